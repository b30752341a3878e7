#include "veche/train/compression/difference_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/train/compression/difference_passes.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::HWY_NAMESPACE {
namespace {

void subtract(float* __restrict out, const float* a, const float* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] - b[i];
}

void add_difference(float* __restrict sum, float weight, const float* a, const float* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += weight * (a[i] - b[i]);
}

void add_scaled(float* __restrict sum, float weight, const float* a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += weight * a[i];
}

}  // namespace
}  // namespace veche::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche {
namespace {

HWY_EXPORT(subtract);
HWY_EXPORT(add_difference);
HWY_EXPORT(add_scaled);

}  // namespace

void subtract_pass(float* out, const float* a, const float* b, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(subtract)(out, a, b, n);
}

void add_difference_pass(float* sum, float weight, const float* a, const float* b, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(add_difference)(sum, weight, a, b, n);
}

void add_scaled_pass(float* sum, float weight, const float* a, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(sum, weight, a, n);
}

}  // namespace veche

#endif  // HWY_ONCE
