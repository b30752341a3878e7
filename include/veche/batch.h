#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "veche/task.h"

namespace veche {

// The shape of one sample. Flat data of N numbers have the shape {N, 1, 1}; a text of N tokens,
// whose targets are the N tokens that follow each of them, has the shape {N, 1, 1} too.
struct Shape {
  int channels = 0;
  int height = 0;
  int width = 0;

  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  bool operator==(const Shape&) const = default;
};

// Samples and their targets. The batch borrows its memory: it is valid until the loader is asked
// for the next batch. A learner that brings its own data, such as the quadratic one, receives
// batches without samples.
//
//                  inputs                          targets
// classification   inputs                          labels: a class per sample
// regression       inputs                          values: a number per sample
// language         tokens: shape.size() + 1 token  the last shape.size() tokens of each window
//                  ids per sample (a window)
struct Batch {
  // Normalised floats, shape.size() per sample. Pixels are in NHWC order (sample by sample,
  // channels together).
  std::span<const float> inputs;
  std::span<const std::int64_t> labels;
  Shape shape;
  std::uint64_t step = 0;  // number of the training step; seeds dropout
  std::span<const std::int32_t> tokens = {};
  std::span<const float> values = {};
  // Weight of every target in the mean loss; 0 masks a target. Empty: all weigh 1.
  std::span<const float> weights = {};

  // Number of samples.
  std::size_t size() const {
    if (!tokens.empty()) return tokens.size() / (shape.size() + 1);
    return values.empty() ? labels.size() : values.size();
  }
  // Number of targets: one per sample, of a text one per token.
  std::size_t targets() const { return tokens.empty() ? size() : size() * shape.size(); }
  // The samples [from, from + count).
  Batch part(std::size_t from, std::size_t count) const {
    const auto cut = [&](auto all, std::size_t each) {
      return all.empty() ? all : all.subspan(from * each, count * each);
    };
    return {.inputs = cut(inputs, shape.size()),
            .labels = cut(labels, 1),
            .shape = shape,
            .step = step,
            .tokens = cut(tokens, shape.size() + 1),
            .values = cut(values, 1),
            .weights = cut(weights, tokens.empty() ? 1 : shape.size())};
  }
};

}  // namespace veche
