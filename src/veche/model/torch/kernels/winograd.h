#pragma once

#include <cstddef>
#include <cstdint>

namespace veche::torch_model {

// 3x3 convolutions with stride 1 over channels-last images by Winograd's F(4x4, 3x3), which needs a
// quarter of the multiplications (Lavin and Gray, 2015). Weights are [out][3][3][in]. Results are
// overwritten unless noted, with sums in a fixed order. They differ from direct convolution in the
// fifth digit.

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

// Whether this convolution is supported and faster than direct convolution. It is slower with few
// channels, or with hardly more tiles than weights to transform. `weights_reused`: the transformed
// weights are reused for several batches.
bool winograd_pays(const WinogradSize& size, bool weights_reused = false);

// Sizes in floats: transformed weights, original weights, workspace of a pass, and workspace of the
// weight gradient.
std::size_t winograd_weights(const WinogradSize& size);
std::size_t winograd_taps(const WinogradSize& size);
std::size_t winograd_work(const WinogradSize& size);
std::size_t winograd_gradient_work(const WinogradSize& size);

// `work` has the size of the original weights.
void winograd_forward_weights(const WinogradSize& size, const float* weight, float* transformed, float* work);
// The bias may be null.
void winograd_forward(const WinogradSize& size, const float* x, const float* transformed, const float* bias,
                      float* y, float* work);
void winograd_backward_weights(const WinogradSize& size, const float* weight, float* transformed);
void winograd_input_gradient(const WinogradSize& size, const float* dy, const float* transformed, float* dx,
                             float* work);
// `add`: accumulates into dweight.
void winograd_weight_gradient(const WinogradSize& size, const float* x, const float* dy, bool add,
                              float* dweight, float* work);

}  // namespace veche::torch_model
