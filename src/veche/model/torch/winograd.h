#pragma once

#include <cstddef>
#include <cstdint>

namespace veche::torch_model {

// Convolutions of 3x3 pixels with stride 1 over channels-last images by Winograd's F(4x4, 3x3): tiles of 4x4
// results from a fourth of the multiplications (Lavin and Gray, 2015). Weights lie as [out][3][3][in].
// Results are overwritten, sums taken in a fixed order; they differ from those of the definition in the fifth
// digit.

struct WinogradSize {
  std::int64_t images = 0;
  std::int64_t height = 0;  // of the input
  std::int64_t width = 0;
  std::int64_t in = 0;  // channels
  std::int64_t out = 0;
  std::int64_t padding = 0;  // 0 to 2

  std::int64_t output_height() const { return height + 2 * padding - 2; }
  std::int64_t output_width() const { return width + 2 * padding - 2; }
};

// Whether it can be done, and takes less time than the definition: it does not with few channels, nor where
// there are hardly more tiles than weights to transform for them.
bool winograd_pays(const WinogradSize& size);
// Floats that each of them needs to work with.
std::size_t winograd_work(const WinogradSize& size);

// The bias may be null.
void winograd_forward(const WinogradSize& size, const float* x, const float* weight, const float* bias,
                      float* y, float* work);
void winograd_input_gradient(const WinogradSize& size, const float* dy, const float* weight, float* dx,
                             float* work);
void winograd_weight_gradient(const WinogradSize& size, const float* x, const float* dy, float* dweight,
                              float* work);

}  // namespace veche::torch_model
