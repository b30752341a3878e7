#include "veche/model/torch/layers/product.h"

#include <oneapi/dnnl/dnnl.h>

#include "veche/errors.h"

namespace veche::torch_model {

void product(const Matrix& a, const Matrix& b, float* c, std::int64_t rows, std::int64_t inner,
             std::int64_t columns, bool add) {
  const auto letter = [](const Matrix& matrix) { return matrix.turned ? 'T' : 'N'; };
  if (dnnl_sgemm(letter(a), letter(b), rows, columns, inner, 1.0F, a.numbers, a.row, b.numbers, b.row,
                 add ? 1.0F : 0.0F, c, columns) != dnnl_success)
    throw RunError("oneDNN failed to multiply matrices");
}

}  // namespace veche::torch_model
