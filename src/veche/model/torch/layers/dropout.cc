#include "veche/model/torch/layers/layers.h"

namespace veche::torch_model {
namespace {

at::Tensor mask(at::IntArrayRef size, double probability, Pass& pass) {
  at::Tensor mask = at::empty(size);
  const auto kept = static_cast<float>(1 / (1 - probability));
  for (float *m = mask.data_ptr<float>(), *end = m + mask.numel(); m != end; ++m)
    *m = pass.dropout.uniform() < probability ? 0 : kept;
  return mask;
}

}  // namespace

at::Tensor dropout(const at::Tensor& x, double probability, Pass& pass) {
  if (!pass.training || probability == 0) return x;
  return x * mask(x.sizes(), probability, pass).to(x.device());
}

at::Tensor stochastic_depth(const at::Tensor& branch, double probability, Pass& pass) {
  if (!pass.training || probability == 0) return branch;
  std::vector<std::int64_t> size(static_cast<std::size_t>(branch.dim()), 1);
  size.front() = branch.size(0);
  return branch * mask(size, probability, pass).to(branch.device());
}

}  // namespace veche::torch_model
