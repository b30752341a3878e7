#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/data/pixel_set.h"

namespace veche {

// Images as bytes, sample after sample, rows of pixels with their channels together, and a label each.
struct Samples {
  Shape shape;
  int classes = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
};

// Images held in memory as bytes: a quarter of the floats they become when they are read.
class ImageSet final : public PixelSet {
 public:
  // Throws std::invalid_argument when the parts do not fit together.
  ImageSet(Samples samples, const Normalization& normalization);

  std::size_t size() const override { return samples_.labels.size(); }
  int classes() const override { return samples_.classes; }
  std::int64_t label(std::size_t index) const override { return samples_.labels[index]; }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override;

 private:
  Samples samples_;
};

}  // namespace veche
