#pragma once

#include "veche/model/torch/headers.h"

namespace veche::torch_model::threaded {

// Matrix products with the columns or rows of the result divided among the threads that libtorch has been
// given (use_threads), where there is enough to do; the BLAS itself stays in the thread that calls it, since
// its own threads would be further ones. No gradients.

// x w' + bias, of x (n, in) and w (out, in).
at::Tensor product_with_bias(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
// a b, by columns; and by rows into a matrix that is there.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);
void product_into(at::Tensor& result, const at::Tensor& a, const at::Tensor& b);

}  // namespace veche::torch_model::threaded
