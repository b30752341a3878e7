#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "veche/batch.h"

namespace veche {

// A network as a graph of ONNX operators: from samples (N, channels, height, width) to logits (N,
// classes), or from tokens (N, length) to logits (N, length, classes), for any N. Values are
// identified by name.

struct OperatorTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::variant<std::vector<float>, std::vector<std::int64_t>> numbers;
};

using OperatorAttribute = std::variant<std::int64_t, float, std::vector<std::int64_t>>;

struct Operator {
  std::string type;                  // "Conv"
  std::vector<std::string> inputs;   // an empty name: omitted
  std::vector<std::string> outputs;  // each has one producer
  std::vector<std::pair<std::string, OperatorAttribute>> attributes = {};
};

struct OperatorGraph {
  // The operator set. 13 has everything the networks need, and most readers support it.
  static constexpr int kVersion = 13;

  std::string input = "samples";
  std::string output = "logits";
  Shape sample;  // a text has as many channels as tokens
  Task task = Task::classification;
  int classes = 0;
  std::vector<Operator> operators = {};  // in topological order
  std::vector<OperatorTensor> constants = {};
  std::vector<std::pair<std::string, std::string>> notes = {};  // for the file's metadata
};

}  // namespace veche
