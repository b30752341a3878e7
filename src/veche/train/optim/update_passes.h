#pragma once

#include <cstddef>

namespace veche {

// The optimizers' loops over n numbers. `out` is `x` or does not overlap it. No number depends on
// another, so a vector may be updated in pieces, in any order.

struct SgdCoefficients {
  float rate, scale, decay, momentum;
};
void plain_pass(float* out, const float* x, const float* g, std::size_t n, const SgdCoefficients& c);
void momentum_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
                   const SgdCoefficients& c);
void nesterov_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
                   const SgdCoefficients& c);

struct AdamCoefficients {
  float step, scale, decay, shrink, beta1, rest1, beta2, rest2, epsilon, root_correction;
};
void adam_pass(float* out, const float* x, const float* g, float* mean, float* square, std::size_t n,
               const AdamCoefficients& c);

struct LarsCoefficients {
  float gradient, weight, momentum;
};
void lars_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
               const LarsCoefficients& c);

}  // namespace veche
