#pragma once

#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// A tensor of this shape without memory of its own, in the place of one that another stage has: nobody reads
// or writes it.
at::Tensor nowhere(at::IntArrayRef shape);
bool is_nowhere(const at::Tensor& tensor);

}  // namespace veche::torch_model
