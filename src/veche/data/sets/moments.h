#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/data/sets/pixel_set.h"

namespace veche {

// Mean and deviation of each channel over many images. Integer sums, so the result does not depend
// on the order of images or the number of threads.
class Moments {
 public:
  explicit Moments(int channels)
      : channels_(static_cast<std::size_t>(channels)), sums_(channels_), squares_(channels_) {}

  void add(std::span<const std::uint8_t> pixels);
  void add(const Moments& other);

  std::uint64_t pixels() const { return pixels_; }
  // For pixels in 0 .. 1. A constant channel has deviation 1, so that division is safe.
  Normalization normalization() const;

 private:
  std::size_t channels_;
  std::uint64_t pixels_ = 0;
  std::vector<std::uint64_t> sums_, squares_;
};

}  // namespace veche
