#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "veche/batch.h"

namespace veche {

// A network written down for other programs, in operators of ONNX: from samples (N, channels, height, width)
// to logits (N, classes), for any N. Values are known by their names.

struct OperatorTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // none: a single number
  std::variant<std::vector<float>, std::vector<std::int64_t>> numbers;
};

using OperatorAttribute = std::variant<std::int64_t, float, std::vector<std::int64_t>>;

struct Operator {
  std::string type;                  // "Conv"
  std::vector<std::string> inputs;   // empty names: left out
  std::vector<std::string> outputs;  // each written once
  std::vector<std::pair<std::string, OperatorAttribute>> attributes = {};
};

struct OperatorGraph {
  // What operators mean. 13 has all that the networks need, and is older than most programs that read it.
  static constexpr int kVersion = 13;

  std::string input = "samples";
  std::string output = "logits";
  Shape sample;
  int classes = 0;
  std::vector<Operator> operators = {};  // each after those whose outputs it takes
  std::vector<OperatorTensor> constants = {};
  std::vector<std::pair<std::string, std::string>> notes = {};  // about the whole, for the file's metadata
};

}  // namespace veche
