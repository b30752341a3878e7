#include "veche/model/torch/layers/initialise.h"

#include <cmath>

#include "veche/model/torch/layers/placeholder.h"

namespace veche::torch_model {
namespace {

double inputs(const at::Tensor& weight) { return static_cast<double>(weight.numel() / weight.size(0)); }
double outputs(const at::Tensor& weight) { return static_cast<double>(weight.numel() / weight.size(1)); }

}  // namespace

Draw zeros(const at::Tensor&) { return {}; }
Draw usual(const at::Tensor& weight) { return {Draw::Shape::uniform, 1 / std::sqrt(inputs(weight))}; }
Draw he_inputs(const at::Tensor& weight) { return {Draw::Shape::normal, std::sqrt(2 / inputs(weight))}; }
Draw he_outputs(const at::Tensor& weight) { return {Draw::Shape::normal, std::sqrt(2 / outputs(weight))}; }
Draw he_uniform(const at::Tensor& weight) { return {Draw::Shape::uniform, std::sqrt(6 / inputs(weight))}; }
Draw xavier_uniform(const at::Tensor& weight) {
  return {Draw::Shape::uniform, std::sqrt(6 / (inputs(weight) + outputs(weight)))};
}

void Initialiser::fill(at::Tensor& tensor, const Draw& draw) {
  at::NoGradGuard guard;
  RandomStream stream(seed_, "initial parameters", tensor_++);
  if (is_placeholder(tensor)) return;  // belongs to another stage
  if (draw.size == 0) {
    tensor.zero_();
    return;
  }
  at::Tensor values = at::empty(tensor.sizes());
  for (float *v = values.data_ptr<float>(), *end = v + values.numel(); v != end; ++v)
    *v = static_cast<float>(draw.shape == Draw::Shape::normal ? stream.normal() * draw.size
                                                              : (2 * stream.uniform() - 1) * draw.size);
  tensor.copy_(values);
}

void Initialiser::fill(torch::nn::Module& network, const Scheme& scheme) {
  at::NoGradGuard guard;
  for (const auto& module : network.modules()) {
    const bool norms = module->as<Norm>() != nullptr || module->as<LayerNorm>() != nullptr;
    if (norms && !module->parameters().empty() && is_placeholder(module->parameters().front())) continue;
    if (auto* conv = module->as<Conv>()) {
      fill(conv->weight, scheme.conv(conv->weight));
      if (conv->bias.defined()) fill(conv->bias, scheme.conv_bias(conv->weight));
    } else if (auto* linear = module->as<Linear>()) {
      fill(linear->weight, scheme.linear(linear->weight));
      fill(linear->bias, scheme.linear_bias(linear->weight));
    } else if (auto* norm = module->as<Norm>()) {
      norm->set_identity();
    } else if (auto* layer_norm = module->as<LayerNorm>()) {
      layer_norm->weight.fill_(1);
      layer_norm->bias.zero_();
    }
  }
}

}  // namespace veche::torch_model
