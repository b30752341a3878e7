#pragma once

#include <cstdint>

namespace veche::torch_model {

// Batch norm followed by ReLU over channels-last images, in the minimum number of passes over
// memory. `rows` counts the pixels of all images, each with `channels` values. Per-channel arrays
// have `channels` values. Sums are taken in a fixed order.

struct ImageSize {
  std::int64_t images = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t rows() const { return images * height * width; }
};

// Mean and (biased) variance of every channel.
void channel_statistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                        float* variance);

// y = max(0, x * scale + shift + residual); the residual may be null.
void scale_relu(const float* x, const float* residual, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift, float* y);

// Without a residual, the ReLU's mask follows from x: with g = dy where x * scale + shift > 0, the
// sums of g and of g * (x - mean) per channel, and then dx = g * scale + (x - mean) * b + c.
void scale_relu_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                     const float* scale, const float* shift, const float* mean, float* sum, float* dot);
void combine_relu(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                  const float* scale, const float* shift, const float* mean, const float* b, const float* c,
                  float* dx);

// With a residual, the mask follows from y: g = dy where y > 0, which is also the residual's
// gradient, and the same sums.
void residual_relu_sums(const float* dy, const float* y, const float* x, std::int64_t rows,
                        std::int64_t channels, const float* mean, float* g, float* sum, float* dot);
// dx = g * a + (x - mean) * b + c.
void combine(const float* g, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
             const float* a, const float* b, const float* c, float* dx);

// Without the ReLU: y = x * scale + shift, and per channel the sums of dy and of dy * (x - mean).
void scale(const float* x, std::int64_t rows, std::int64_t channels, const float* scale, const float* shift,
           float* y);
void scale_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                float* sum, float* dot);

// As above with 2x2 max pooling after the ReLU. `size` describes x; y has half the height and
// width, rounded down. The gradient of a window goes to its first largest pixel.
void scale_relu_pool(const float* x, const ImageSize& size, const float* scale, const float* shift, float* y);
void scale_relu_pool_sums(const float* dy, const float* x, const ImageSize& size, const float* scale,
                          const float* shift, const float* mean, float* sum, float* dot);
void combine_pool(const float* dy, const float* x, const ImageSize& size, const float* scale,
                  const float* shift, const float* mean, const float* b, const float* c, float* dx);

}  // namespace veche::torch_model
