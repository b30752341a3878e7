#pragma once

#include <cstddef>

namespace veche {

// c = a b of row-major matrices without gaps: a is rows x inner, b inner x columns. c overlaps
// neither. Every element is summed in the order of the inner index.
void matrix_product(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
                    std::size_t columns);

}  // namespace veche
