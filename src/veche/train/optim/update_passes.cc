#include "veche/train/optim/update_passes.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/train/optim/update_passes.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::HWY_NAMESPACE {
namespace {

// No element depends on another: `ivdep` says so. Coefficients by value, so that no store can
// change them.

void plain(float* out, const float* x, const float* g, std::size_t n, SgdCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = x[i] - c.rate * (c.scale * g[i] + c.decay * x[i]);
}

void momentum(float* out, const float* x, const float* g, float* velocity, std::size_t n, SgdCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    velocity[i] = c.momentum * velocity[i] + (c.scale * g[i] + c.decay * x[i]);
    out[i] = x[i] - c.rate * velocity[i];
  }
}

void nesterov(float* out, const float* x, const float* g, float* velocity, std::size_t n, SgdCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float slope = c.scale * g[i] + c.decay * x[i];
    velocity[i] = c.momentum * velocity[i] + slope;
    out[i] = x[i] - c.rate * (slope + c.momentum * velocity[i]);
  }
}

void adam(float* out, const float* x, const float* g, float* mean, float* square, std::size_t n,
          AdamCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float slope = c.scale * g[i] + c.decay * x[i];
    mean[i] = c.beta1 * mean[i] + c.rest1 * slope;
    square[i] = c.beta2 * square[i] + c.rest2 * slope * slope;
    out[i] = c.shrink * x[i] - c.step * mean[i] / (std::sqrt(square[i]) * c.root_correction + c.epsilon);
  }
}

void lars(float* out, const float* x, const float* g, float* velocity, std::size_t n, LarsCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    velocity[i] = c.momentum * velocity[i] + (c.gradient * g[i] + c.weight * x[i]);
    out[i] = x[i] - velocity[i];
  }
}

}  // namespace
}  // namespace veche::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche {
namespace {

HWY_EXPORT(plain);
HWY_EXPORT(momentum);
HWY_EXPORT(nesterov);
HWY_EXPORT(adam);
HWY_EXPORT(lars);

}  // namespace

void plain_pass(float* out, const float* x, const float* g, std::size_t n, const SgdCoefficients& c) {
  HWY_DYNAMIC_DISPATCH(plain)(out, x, g, n, c);
}

void momentum_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
                   const SgdCoefficients& c) {
  HWY_DYNAMIC_DISPATCH(momentum)(out, x, g, velocity, n, c);
}

void nesterov_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
                   const SgdCoefficients& c) {
  HWY_DYNAMIC_DISPATCH(nesterov)(out, x, g, velocity, n, c);
}

void adam_pass(float* out, const float* x, const float* g, float* mean, float* square, std::size_t n,
               const AdamCoefficients& c) {
  HWY_DYNAMIC_DISPATCH(adam)(out, x, g, mean, square, n, c);
}

void lars_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
               const LarsCoefficients& c) {
  HWY_DYNAMIC_DISPATCH(lars)(out, x, g, velocity, n, c);
}

}  // namespace veche

#endif  // HWY_ONCE
