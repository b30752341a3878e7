// For norm_kernels.cc and pool_kernels.cc, once per instruction set (base/machine/each_target.h).
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <int N>
using Parts = std::integral_constant<int, N>;

// Calls body(tag, parts, c) for consecutive groups of channels from c on: `parts` adjacent vectors
// of the tag's lanes, so that a pixel is read sequentially. The remaining channels are handled one
// by one.
template <class Body>
HWY_INLINE void for_channels(std::int64_t channels, Body body) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) body(d, Parts<4>(), c);
  for (; c + 2 * lanes <= channels; c += 2 * lanes) body(d, Parts<2>(), c);
  for (; c + lanes <= channels; c += lanes) body(d, Parts<1>(), c);
  for (; c < channels; ++c) body(hn::CappedTag<float, 1>(), Parts<1>(), c);
}

// Adjacent vectors of channels.
template <class D, int P>
struct Group {
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());
  static constexpr std::int64_t kWidth = P * kLanes;
  using V = hn::Vec<D>;

  HWY_INLINE void load(const float* from) {
    for (int p = 0; p < P; ++p) v[p] = hn::LoadU(D(), from + p * kLanes);
  }
  HWY_INLINE void zero() {
    for (int p = 0; p < P; ++p) v[p] = hn::Zero(D());
  }
  // Adds to totals in double precision.
  HWY_INLINE void add_to(double* totals) const {
    float numbers[kWidth];
    for (int p = 0; p < P; ++p) hn::StoreU(v[p], D(), numbers + p * kLanes);
    for (std::int64_t i = 0; i < kWidth; ++i) totals[i] += static_cast<double>(numbers[i]);
  }
  V v[P];
};

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
