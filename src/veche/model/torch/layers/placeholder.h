#pragma once

#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// A placeholder of this shape, without memory, for a tensor that belongs to another stage. It must
// be neither read nor written.
at::Tensor placeholder(at::IntArrayRef shape);
bool is_placeholder(const at::Tensor& tensor);

}  // namespace veche::torch_model
