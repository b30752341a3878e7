#pragma once

#include "veche/model/torch/kernels/attention.h"
#include "veche/model/torch/kernels/norm_kernels.h"
#include "veche/model/torch/kernels/token_kernels.h"
#include "veche/model/torch/kernels/winograd.h"

namespace veche::torch_model::threaded {

// The kernels of the headers above, with pixels, tokens or images divided among libtorch's
// threads (use_threads) if there is enough work. With one thread they are identical. Sums are
// combined in a fixed order: equal numbers of threads give equal bits.

void channel_statistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                        float* variance);
void scale_relu(const float* x, const float* residual, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift, float* y);
void scale_relu_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                     const float* scale, const float* shift, const float* mean, float* sum, float* dot);
void combine_relu(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                  const float* scale, const float* shift, const float* mean, const float* b, const float* c,
                  float* dx);
void residual_relu_sums(const float* dy, const float* y, const float* x, std::int64_t rows,
                        std::int64_t channels, const float* mean, float* g, float* sum, float* dot);
void combine(const float* g, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
             const float* a, const float* b, const float* c, float* dx);
void scale(const float* x, std::int64_t rows, std::int64_t channels, const float* scale, const float* shift,
           float* y);
void scale_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                float* sum, float* dot);
void scale_relu_pool(const float* x, const ImageSize& size, const float* scale, const float* shift, float* y);
void scale_relu_pool_sums(const float* dy, const float* x, const ImageSize& size, const float* scale,
                          const float* shift, const float* mean, float* sum, float* dot);
void combine_pool(const float* dy, const float* x, const ImageSize& size, const float* scale,
                  const float* shift, const float* mean, const float* b, const float* c, float* dx);

void token_norm(const float* x, std::int64_t rows, std::int64_t width, const float* weight, const float* bias,
                float epsilon, float* y, float* mean, float* scale);
void token_norm_gradient(const float* dy, const float* x, std::int64_t rows, std::int64_t width,
                         const float* weight, const float* mean, const float* scale, const float* around,
                         float* dx, float* dweight, float* dbias);
void gelu(const float* x, std::int64_t count, float* y);
void gelu_gradient(const float* x, const float* dy, std::int64_t count, float* y, float* dx);

// All pairs. The workspace is for all threads.
std::size_t attention_work(const AttentionSize& size);
void attention_forward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                       float* out, float* log_sums, float* work);
void attention_backward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                        const float* out, const float* log_sums, const float* dout, float* dqkv, float* work);

std::size_t winograd_work(const WinogradSize& size);
std::size_t winograd_gradient_work(const WinogradSize& size);
void winograd_forward(const WinogradSize& size, const float* x, const float* transformed, const float* bias,
                      float* y, float* work);
void winograd_input_gradient(const WinogradSize& size, const float* dy, const float* transformed, float* dx,
                             float* work);
void winograd_weight_gradient(const WinogradSize& size, const float* x, const float* dy, bool add,
                              float* dweight, float* work);

}  // namespace veche::torch_model::threaded
