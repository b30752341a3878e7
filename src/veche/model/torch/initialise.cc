#include "veche/model/torch/initialise.h"

#include <cmath>

namespace veche::torch_model {
namespace {

double inputs(const at::Tensor& weight) { return static_cast<double>(weight.numel() / weight.size(0)); }

}  // namespace

template <class Draw>
void Initialiser::fill(at::Tensor& tensor, Draw draw) {
  at::NoGradGuard guard;
  RandomStream stream(seed_, "initial parameters", tensor_++);
  at::Tensor values = at::empty(tensor.sizes());
  for (float *v = values.data_ptr<float>(), *end = v + values.numel(); v != end; ++v)
    *v = static_cast<float>(draw(stream));
  tensor.copy_(values);
}

void Initialiser::fill_uniform(at::Tensor& tensor, double bound) {
  fill(tensor, [bound](RandomStream& stream) { return (2 * stream.uniform() - 1) * bound; });
}

void Initialiser::fill_normal(at::Tensor& tensor, double deviation) {
  fill(tensor, [deviation](RandomStream& stream) { return stream.normal() * deviation; });
}

void Initialiser::uniform(Conv& layer) {
  const double bound = 1 / std::sqrt(inputs(layer.weight));
  fill_uniform(layer.weight, bound);
  if (layer.bias.defined()) fill_uniform(layer.bias, bound);
}

void Initialiser::uniform(Linear& layer) {
  const double bound = 1 / std::sqrt(inputs(layer.weight));
  fill_uniform(layer.weight, bound);
  fill_uniform(layer.bias, bound);
}

void Initialiser::normal(Conv& layer) {
  fill_normal(layer.weight, std::sqrt(2 / inputs(layer.weight)));
  if (layer.bias.defined()) fill_uniform(layer.bias, 1 / std::sqrt(inputs(layer.weight)));
}

void Initialiser::normal(Linear& layer) {
  fill_normal(layer.weight, std::sqrt(2 / inputs(layer.weight)));
  fill_uniform(layer.bias, 1 / std::sqrt(inputs(layer.weight)));
}

void Initialiser::identity(BatchNorm& layer) {
  at::NoGradGuard guard;
  layer.weight.fill_(1);
  layer.bias.zero_();
  layer.running_mean.zero_();
  layer.running_var.fill_(1);
}

}  // namespace veche::torch_model
