#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/data/sets/pixel_set.h"

namespace veche {

// Mean and deviation of each channel over many images. Sums are of whole numbers, so that neither the order
// of images nor the number of threads that summed them can change the result.
class Moments {
 public:
  explicit Moments(int channels)
      : channels_(static_cast<std::size_t>(channels)), sums_(channels_), squares_(channels_) {}

  void add(std::span<const std::uint8_t> pixels);
  void add(const Moments& other);

  std::uint64_t pixels() const { return pixels_; }
  // For pixels taken as 0 .. 1. A channel that never changes has deviation 1, for one divides by it.
  Normalization normalization() const;

 private:
  std::size_t channels_;
  std::uint64_t pixels_ = 0;
  std::vector<std::uint64_t> sums_, squares_;
};

}  // namespace veche
