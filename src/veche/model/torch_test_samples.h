#pragma once

#include <span>
#include <string>
#include <vector>

#include "veche/model/zoo.h"
#include "veche/random.h"

namespace veche {

inline constexpr Shape kGrey{1, 28, 28};
inline constexpr Shape kColour{3, 32, 32};
inline constexpr Shape kOdd{2, 15, 17};
inline constexpr Shape kText{24, 1, 1};  // a window of 24 tokens

inline Task task_of(const std::string& model) { return find_model(model).tasks.front(); }
// The shape for a network that reads images of any size, or text.
inline Shape small_shape(const std::string& model) {
  return task_of(model) == Task::language ? kText : kColour;
}

struct RandomSamples {
  RandomSamples(Shape shape, std::size_t count, std::uint64_t seed = 7, Task task = Task::classification)
      : shape(shape) {
    RandomStream stream(seed, "samples");
    if (task == Task::language) {
      tokens.resize(count * (shape.size() + 1));
      for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(stream.below(10));
      return;
    }
    images.resize(count * shape.size());
    labels.resize(count);
    for (float& pixel : images) pixel = static_cast<float>(stream.normal());
    for (auto& label : labels) label = static_cast<std::int64_t>(stream.below(10));
  }
  RandomSamples(const ModelSpec& spec, std::size_t count) : RandomSamples(spec.input, count, 7, spec.task) {}
  Batch batch(std::uint64_t step = 0) const { return {images, labels, shape, step, tokens}; }

  std::vector<float> images;
  std::vector<std::int64_t> labels;
  std::vector<std::int32_t> tokens;
  Shape shape;
};

inline ModelSpec spec_of(const std::string& name, Shape input, int node = 0) {
  return {.name = name,
          .input = input,
          .classes = 10,
          .task = task_of(name),
          .seed = 3,
          .node = NodeId{node},
          .nodes = 4};
}

inline std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace veche
