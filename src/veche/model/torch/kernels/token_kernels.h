#pragma once

#include <cstdint>

namespace veche::torch_model {

// Passes over the tokens of a transformer, each in one sweep over memory. A row is a token.

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row; the bias may be null.
// `mean` and `scale` (the inverse deviation) of every row are for the backward pass.
void token_norm(const float* x, std::int64_t rows, std::int64_t width, const float* weight, const float* bias,
                float epsilon, float* y, float* mean, float* scale);
// dx = the gradient through the norm, plus `around` (null: nothing), the gradient that went around
// it. Adds to dweight and dbias (may be null).
void token_norm_gradient(const float* dy, const float* x, std::int64_t rows, std::int64_t width,
                         const float* weight, const float* mean, const float* scale, const float* around,
                         float* dx, float* dweight, float* dbias);

// y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
void gelu(const float* x, std::int64_t count, float* y);
// The same, and dx, which may be dy.
void gelu_gradient(const float* x, const float* dy, std::int64_t count, float* y, float* dx);

}  // namespace veche::torch_model
