#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "veche/data/feed/augment.h"
#include "veche/dataset.h"
#include "veche/random.h"

namespace veche {

// Reads samples in the learner's format, in one pass from the stored bytes to the floats of a
// batch. Owns the buffer into which a sample is decoded, hence one thread at a time. Allocates only
// when the buffer grows.
class SampleReader {
 public:
  SampleReader() = default;
  // For training. Throws std::invalid_argument if a set of floats is to be augmented.
  SampleReader(const Dataset& data, const Augmentation& changes);

  void read(const Dataset& data, std::size_t index, std::span<float> out);
  // Augmented as configured; the changes depend only on `random`.
  void read(const Dataset& data, std::size_t index, const RandomStream& random, std::span<float> out);

 private:
  std::optional<Augmenter> augmenter_;
  std::vector<std::uint8_t> room_;
};

}  // namespace veche
