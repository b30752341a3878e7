#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "veche/model/operators.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// Translates a libtorch trace into ONNX operators, one operation at a time. The pass was traced
// with kSamples samples; in the result, the first dimension of everything that depends on them is
// N, for any N.
class Translator {
 public:
  static constexpr std::int64_t kSamples = 2;

  // `names` maps the data pointers of the network's own tensors to their names.
  Translator(OperatorGraph& graph, std::map<const void*, std::string> names)
      : graph_(graph), names_(std::move(names)) {}

  // Throws RequestError, naming the operation, if there is no rule for it.
  void translate(const torch::jit::Graph& traced);

 private:
  using Node = torch::jit::Node;
  using Value = torch::jit::Value;
  using Attributes = std::vector<std::pair<std::string, OperatorAttribute>>;
  using Rule = void (Translator::*)(const Node&);
  static const std::map<std::string, Rule>& rules();

  // One rule per operation or kind of operation.
  void activation(const Node& node);
  void batch_norm(const Node& node);
  void binary(const Node& node);
  void concatenation(const Node& node);
  void convolution(const Node& node);
  void embedding(const Node& node);
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
  void narrow(const Node& node);
  void padding(const Node& node);
  void parts(const Node& node);
  void permutation(const Node& node);
  void reshape(const Node& node);
  void same(const Node& node);
  void selection(const Node& node);
  void silu(const Node& node);
  void slice(const Node& node);
  void softmax(const Node& node);

  // Building blocks of the rules. The output of an operator gets a new name, which is returned.
  std::string emit(const std::string& type, std::vector<std::string> inputs, Attributes attributes = {});
  // `broadcast`: removes leading dimensions of size 1 from a constant. They carry no information
  // there, and OpenCV 4.6 takes them for a batch of one.
  std::string name_of(const Value* value, bool broadcast = false);
  void call(const Value* value, std::string name) { values_[value] = std::move(name); }
  std::string number(float value);
  std::string integers(std::vector<std::int64_t> values);
  std::string tensor(const at::Tensor& values, const std::string& name);
  std::string reshaped(const std::string& name, std::vector<std::int64_t> shape);
  std::string transposed(const std::string& name, std::vector<std::int64_t> order);
  std::string slice_of(const std::string& name, std::int64_t dimension, std::int64_t from, std::int64_t to,
                       std::int64_t step);
  std::string tanh_gelu(const std::string& x);
  std::string normalised(const Node& norm, std::int64_t channels, std::vector<std::int64_t> seen);
  [[noreturn]] static void refuse(const Node& node, const std::string& why);

  OperatorGraph& graph_;
  const std::map<const void*, std::string> names_;
  std::unordered_map<const Value*, std::string> values_;
  std::unordered_map<const Value*, at::Tensor> repeated_;  // equal for every sample
  std::map<std::string, int> used_;                        // number of uses of a name
};

}  // namespace veche::torch_model
