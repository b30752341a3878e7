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

struct RandomSamples {
  RandomSamples(Shape shape, std::size_t count, std::uint64_t seed = 7)
      : images(count * shape.size()), labels(count), shape(shape) {
    RandomStream stream(seed, "samples");
    for (float& pixel : images) pixel = static_cast<float>(stream.normal());
    for (auto& label : labels) label = static_cast<std::int64_t>(stream.below(10));
  }
  Batch batch(std::uint64_t step = 0) const { return {images, labels, shape, step}; }

  std::vector<float> images;
  std::vector<std::int64_t> labels;
  Shape shape;
};

inline ModelSpec spec_of(const std::string& name, Shape input, int node = 0) {
  return {.name = name, .input = input, .classes = 10, .seed = 3, .node = NodeId{node}, .nodes = 4};
}

inline std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace veche
