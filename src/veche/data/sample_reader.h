#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/data/dataset.h"
#include "veche/data/pixel_set.h"

namespace veche {

// Reads samples as a learner sees them, in one pass from the bytes of a set to the floats of a batch. One
// thread at a time, since it owns the room that a sample is decoded into; allocates only when that grows.
class SampleReader {
 public:
  void read(const Dataset& data, std::size_t index, std::span<float> out);

 private:
  std::vector<std::uint8_t> room_;
};

}  // namespace veche
