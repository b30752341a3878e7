#pragma once

#include <cstddef>

namespace veche {

// The loops of copies.cc over n numbers. The arrays do not overlap.

// out = a - b
void subtract_pass(float* out, const float* a, const float* b, std::size_t n);
// sum += weight * (a - b)
void add_difference_pass(float* sum, float weight, const float* a, const float* b, std::size_t n);
// sum += weight * a
void add_scaled_pass(float* sum, float weight, const float* a, std::size_t n);

}  // namespace veche
