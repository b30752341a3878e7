#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace veche {

// The shape of one sample. Flat data of N numbers have the shape {N, 1, 1}.
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

// Samples and their labels. The batch borrows its memory: it is valid until the loader is asked for
// the next batch. Pixels are normalised floats in NHWC order (sample by sample, channels together).
// A learner that brings its own data, such as the quadratic one, receives batches without samples.
struct Batch {
  std::span<const float> images;
  std::span<const std::int64_t> labels;
  Shape shape;
  std::uint64_t step = 0;  // number of the training step; seeds dropout

  std::size_t size() const { return labels.size(); }
};

// Sums over samples, not means, so that the scores of batches and nodes add up exactly.
struct Score {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;

  double loss() const { return count == 0 ? 0 : loss_sum / static_cast<double>(count); }
  double accuracy() const {
    return count == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(count);
  }
  Score& operator+=(const Score& other) {
    loss_sum += other.loss_sum;
    correct += other.correct;
    count += other.count;
    return *this;
  }
};

}  // namespace veche
