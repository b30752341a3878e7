#include "veche/train/strategies/correction_passes.h"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/train/strategies/correction_passes.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::HWY_NAMESPACE {
namespace {

void corrected(float* __restrict out, const float* x, const float* high, const float* low, const float* rest,
               std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(static_cast<double>(x[i]) + static_cast<double>(rest[i]) +
                                (static_cast<double>(high[i]) + static_cast<double>(low[i])));
}

void add_flow(double* __restrict flow, double weight, const float* from, const float* mine, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    flow[i] += weight * (static_cast<double>(from[i]) - static_cast<double>(mine[i]));
}

void take_flow(float* __restrict x, float* __restrict high, float* __restrict low, float* __restrict rest,
               const double* flow, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double sum = static_cast<double>(high[i]) + static_cast<double>(low[i]) + flow[i];
    const double mixed = static_cast<double>(x[i]) + static_cast<double>(rest[i]) + sum;
    x[i] = static_cast<float>(mixed);
    rest[i] = static_cast<float>(mixed - static_cast<double>(x[i]));
    high[i] = static_cast<float>(sum);
    low[i] = static_cast<float>(sum - static_cast<double>(high[i]));
  }
}

}  // namespace
}  // namespace veche::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche {
namespace {

HWY_EXPORT(corrected);
HWY_EXPORT(add_flow);
HWY_EXPORT(take_flow);

}  // namespace

void add_correction(std::span<float> out, std::span<const float> x, const Correction& correction) {
  HWY_DYNAMIC_DISPATCH(corrected)
  (out.data(), x.data(), correction.high.data(), correction.low.data(), correction.rest.data(), out.size());
}

void mix_with_flow(std::span<float> x, const Correction& correction, std::span<const float> mine,
                   std::span<const std::span<const float>> neighbours, std::span<const double> weights) {
  constexpr std::size_t kBlock = 512;  // flows of a block stay in the first-level cache
  std::array<double, kBlock> flow;
  for (std::size_t from = 0; from < x.size(); from += kBlock) {
    const std::size_t n = std::min(kBlock, x.size() - from);
    std::fill_n(flow.begin(), n, 0.0);
    for (std::size_t k = 0; k < neighbours.size(); ++k) HWY_DYNAMIC_DISPATCH(add_flow)
    (flow.data(), weights[k], neighbours[k].data() + from, mine.data() + from, n);
    HWY_DYNAMIC_DISPATCH(take_flow)
    (x.data() + from, correction.high.data() + from, correction.low.data() + from,
     correction.rest.data() + from, flow.data(), n);
  }
}

}  // namespace veche

#endif  // HWY_ONCE
