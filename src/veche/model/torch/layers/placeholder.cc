#include "veche/model/torch/layers/placeholder.h"

namespace veche::torch_model {
namespace {

// A placeholder is recognised by its address: libtorch has no flag for a tensor without memory that
// can still stand for a real one.
const at::Tensor& shared_element() {
  static const at::Tensor number = at::zeros({1});
  return number;
}

}  // namespace

at::Tensor placeholder(at::IntArrayRef shape) { return shared_element().expand(shape); }

bool is_placeholder(const at::Tensor& tensor) {
  return tensor.has_storage() && tensor.data_ptr() == shared_element().data_ptr();
}

}  // namespace veche::torch_model
