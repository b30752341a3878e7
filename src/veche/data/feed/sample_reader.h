#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "veche/data/feed/augment.h"
#include "veche/dataset.h"
#include "veche/random.h"

namespace veche {

// Reads samples as a learner sees them, in one pass from the bytes of a set to the floats of a batch. One
// thread at a time, since it owns the room that a sample is decoded into; allocates only when that grows.
class SampleReader {
 public:
  SampleReader() = default;
  // For training; a set of floats knows no augmentation and throws std::invalid_argument.
  SampleReader(const Dataset& data, const Augmentation& changes);

  void read(const Dataset& data, std::size_t index, std::span<float> out);
  // Changed as the reader was told, by chances drawn from `random` alone.
  void read(const Dataset& data, std::size_t index, const RandomStream& random, std::span<float> out);

 private:
  std::optional<Augmenter> augmenter_;
  std::vector<std::uint8_t> room_;
};

}  // namespace veche
