#include "veche/model/torch/export/translator.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

#include "veche/errors.h"

namespace veche::torch_model {

const std::map<std::string, Translator::Rule>& Translator::rules() {
  static const std::map<std::string, Rule> rules = {
      {"aten::_convolution", &Translator::convolution},
      {"aten::add", &Translator::binary},
      {"aten::batch_norm", &Translator::batch_norm},
      {"aten::cat", &Translator::concatenation},
      {"aten::chunk", &Translator::parts},
      {"aten::constant_pad_nd", &Translator::padding},
      {"aten::contiguous", &Translator::same},
      {"aten::conv2d", &Translator::convolution},
      {"aten::div", &Translator::binary},
      {"aten::embedding", &Translator::embedding},
      {"aten::expand", &Translator::expansion},
      {"aten::flatten", &Translator::flattening},
      {"aten::gelu", &Translator::gelu},
      {"aten::group_norm", &Translator::group_norm},
      {"aten::hardsigmoid", &Translator::activation},
      {"aten::hardswish", &Translator::hardswish},
      {"aten::layer_norm", &Translator::layer_norm},
      {"aten::linear", &Translator::linear},
      {"aten::matmul", &Translator::matmul},
      {"aten::max_pool2d", &Translator::max_pool},
      {"aten::mean", &Translator::mean},
      {"aten::mul", &Translator::binary},
      {"aten::narrow", &Translator::narrow},
      {"aten::permute", &Translator::permutation},
      {"aten::relu", &Translator::activation},
      {"aten::reshape", &Translator::reshape},
      {"aten::select", &Translator::selection},
      {"aten::sigmoid", &Translator::activation},
      {"aten::silu", &Translator::silu},
      {"aten::slice", &Translator::slice},
      {"aten::softmax", &Translator::softmax},
      {"aten::transpose", &Translator::permutation},
      {"aten::unbind", &Translator::parts},
      {"aten::view", &Translator::reshape},
      {"prim::Constant", &Translator::list},
      {"prim::ListConstruct", &Translator::list},
      {"prim::ListUnpack", &Translator::list},
  };
  return rules;
}

void Translator::translate(const torch::jit::Graph& traced) {
  call(traced.inputs().at(0), graph_.input);
  for (const Node* node : traced.nodes()) {
    const auto rule = rules().find(node->kind().toQualString());
    if (rule == rules().end()) refuse(*node, "there is no rule for it");
    (this->*rule->second)(*node);
  }
  // The last value gets the name that readers expect.
  const std::string last = name_of(traced.outputs().at(0));
  for (Operator& step : graph_.operators)
    for (auto* names : {&step.inputs, &step.outputs}) std::ranges::replace(*names, last, graph_.output);
}

void Translator::refuse(const Node& node, const std::string& why) {
  throw RequestError("its operation " + std::string(node.kind().toUnqualString()) + ": " + why);
}

std::string Translator::emit(const std::string& type, std::vector<std::string> inputs,
                             Attributes attributes) {
  const std::string name = type + "." + std::to_string(used_[type]++);
  graph_.operators.push_back({type, std::move(inputs), {name}, std::move(attributes)});
  return name;
}

std::string Translator::name_of(const Value* value, bool broadcast) {
  const auto known = values_.find(value);
  if (known != values_.end()) return known->second;
  const auto constant = torch::jit::toIValue(value);
  if (constant && constant->isScalar()) return values_[value] = number(constant->toScalar().to<float>());
  if (!constant || !constant->isTensor()) refuse(*value->node(), "what it makes is no tensor");
  at::Tensor numbers = constant->toTensor();
  if (numbers.dim() == 0) return values_[value] = number(numbers.item<float>());
  const auto owned = names_.find(numbers.data_ptr());
  while (broadcast && numbers.dim() > 1 && numbers.size(0) == 1) numbers = numbers.squeeze(0);
  return values_[value] = tensor(numbers, owned != names_.end() ? owned->second : "constant");
}

std::string Translator::tensor(const at::Tensor& values, const std::string& name) {
  const int before = used_[name]++;
  const std::string full = before == 0 ? name : name + "." + std::to_string(before);
  const at::Tensor ordered = values.to(at::kFloat).contiguous();
  const auto* first = ordered.data_ptr<float>();
  graph_.constants.push_back(
      {full, ordered.sizes().vec(), std::vector<float>(first, first + ordered.numel())});
  return full;
}

std::string Translator::number(float value) {
  const std::string name = "number." + std::to_string(used_["number"]++);
  graph_.constants.push_back({name, {}, std::vector<float>{value}});
  return name;
}

std::string Translator::integers(std::vector<std::int64_t> values) {
  const std::string name = "integers." + std::to_string(used_["integers"]++);
  const auto count = static_cast<std::int64_t>(values.size());
  graph_.constants.push_back({name, {count}, std::move(values)});
  return name;
}

std::string Translator::reshaped(const std::string& name, std::vector<std::int64_t> shape) {
  return emit("Reshape", {name, integers(std::move(shape))});
}

std::string Translator::transposed(const std::string& name, std::vector<std::int64_t> order) {
  return emit("Transpose", {name}, {{"perm", std::move(order)}});
}

std::string Translator::slice_of(const std::string& name, std::int64_t dimension, std::int64_t from,
                                 std::int64_t to, std::int64_t step) {
  return emit("Slice", {name, integers({from}), integers({to}), integers({dimension}), integers({step})});
}

}  // namespace veche::torch_model
