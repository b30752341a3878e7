#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "veche/model/operators.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// Puts what libtorch's tracer has seen into operators of ONNX, one operation after the other. A pass was
// traced with kSamples samples; the first dimension of everything that depends on them is N in what is
// written, whatever N will be.
class Translator {
 public:
  static constexpr std::int64_t kSamples = 2;

  // `names`: of the tensors that the network owns, by where their numbers are.
  Translator(OperatorGraph& graph, std::map<const void*, std::string> names)
      : graph_(graph), names_(std::move(names)) {}

  // Throws RequestError, which names the operation, for one without a rule.
  void translate(const torch::jit::Graph& traced);

 private:
  using Node = torch::jit::Node;
  using Value = torch::jit::Value;
  using Attributes = std::vector<std::pair<std::string, OperatorAttribute>>;
  using Rule = void (Translator::*)(const Node&);
  static const std::map<std::string, Rule>& rules();

  // One rule for each operation, or kind of operation.
  void activation(const Node& node);
  void batch_norm(const Node& node);
  void binary(const Node& node);
  void concatenation(const Node& node);
  void convolution(const Node& node);
  void expansion(const Node& node);
  void flattening(const Node& node);
  void gelu(const Node& node);
  void group_norm(const Node& node);
  void hardswish(const Node& node);
  void layer_norm(const Node& node);
  void linear(const Node& node);
  void list(const Node& node);
  void matmul(const Node& node);
  void max_pool(const Node& node);
  void mean(const Node& node);
  void padding(const Node& node);
  void parts(const Node& node);
  void permutation(const Node& node);
  void reshape(const Node& node);
  void same(const Node& node);
  void selection(const Node& node);
  void silu(const Node& node);
  void slice(const Node& node);
  void softmax(const Node& node);

  // What the rules say it with. An operator's one output gets a new name, which is the result.
  std::string emit(const std::string& type, std::vector<std::string> inputs, Attributes attributes = {});
  // `broadcast`: a constant goes without first dimensions of size 1, which say nothing there, and which
  // OpenCV 4.6 takes for a batch of one.
  std::string name_of(const Value* value, bool broadcast = false);
  void call(const Value* value, std::string name) { values_[value] = std::move(name); }
  std::string number(float value);
  std::string integers(std::vector<std::int64_t> values);
  std::string tensor(const at::Tensor& values, const std::string& name);
  std::string reshaped(const std::string& name, std::vector<std::int64_t> shape);
  std::string transposed(const std::string& name, std::vector<std::int64_t> order);
  std::string slice_of(const std::string& name, std::int64_t dimension, std::int64_t from, std::int64_t to,
                       std::int64_t step);
  std::string normalised(const Node& norm, std::int64_t channels, std::vector<std::int64_t> seen);
  [[noreturn]] static void refuse(const Node& node, const std::string& why);

  OperatorGraph& graph_;
  const std::map<const void*, std::string> names_;
  std::unordered_map<const Value*, std::string> values_;
  std::unordered_map<const Value*, at::Tensor> repeated_;  // the same for every sample
  std::map<std::string, int> used_;                        // how often a name was given
};

}  // namespace veche::torch_model
