#pragma once

#include <cstddef>
#include <cstdint>

namespace veche::torch_model {

// Convolutions of 3x3 pixels with stride 1 over channels-last images by Winograd's F(4x4, 3x3): tiles of 4x4
// results from a fourth of the multiplications (Lavin and Gray, 2015). Weights lie as [out][3][3][in].
// Results are overwritten but where it says otherwise, sums taken in a fixed order; they differ from those of
// the definition in the fifth digit.

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
// there are hardly more tiles than weights to transform for them. `weights_rest`: transformed ones serve
// several batches.
bool winograd_pays(const WinogradSize& size, bool weights_rest = false);

// In floats: transformed weights, weights as they are, what a pass needs to work with, and the one to the
// weights' gradient.
std::size_t winograd_weights(const WinogradSize& size);
std::size_t winograd_taps(const WinogradSize& size);
std::size_t winograd_work(const WinogradSize& size);
std::size_t winograd_gradient_work(const WinogradSize& size);

// `work` has the size of the weights as they are.
void winograd_forward_weights(const WinogradSize& size, const float* weight, float* transformed, float* work);
// The bias may be null.
void winograd_forward(const WinogradSize& size, const float* x, const float* transformed, const float* bias,
                      float* y, float* work);
void winograd_backward_weights(const WinogradSize& size, const float* weight, float* transformed);
void winograd_input_gradient(const WinogradSize& size, const float* dy, const float* transformed, float* dx,
                             float* work);
// `add`: to what dweight holds.
void winograd_weight_gradient(const WinogradSize& size, const float* x, const float* dy, bool add,
                              float* dweight, float* work);

}  // namespace veche::torch_model
