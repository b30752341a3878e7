#pragma once

#include <vector>

#include "veche/batch.h"
#include "veche/model_spec.h"

namespace veche {

// A made-up batch for a model, to measure a pass: all inputs, tokens and targets are equal.
class BlankBatch {
 public:
  BlankBatch(const ModelSpec& model, std::size_t samples) : shape_(model.input) {
    if (model.task == Task::language)
      tokens_.assign(samples * (shape_.size() + 1), 0);
    else
      inputs_.assign(samples * shape_.size(), 0.5F);
    if (model.task == Task::classification) labels_.assign(samples, 0);
    if (model.task == Task::regression) values_.assign(samples, 0);
  }
  Batch batch() const {
    return {.inputs = inputs_, .labels = labels_, .shape = shape_, .tokens = tokens_, .values = values_};
  }

 private:
  const Shape shape_;
  std::vector<float> inputs_, values_;
  std::vector<std::int64_t> labels_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace veche
