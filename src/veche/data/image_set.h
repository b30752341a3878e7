#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/data/dataset.h"

namespace veche {

// Images as bytes, sample after sample, rows of pixels with their channels together, and a label each.
struct Samples {
  Shape shape;
  int classes = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
};

// What is subtracted and divided by, per channel, for pixels taken as 0 .. 1. A single entry serves all
// channels.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> deviation;
};

// Images held in memory as bytes: a quarter of the floats they become when they are read.
class ImageSet final : public Dataset {
 public:
  // Throws std::invalid_argument when the parts do not fit together.
  ImageSet(Samples samples, const Normalization& normalization);

  std::size_t size() const override { return samples_.labels.size(); }
  Shape shape() const override { return samples_.shape; }
  int classes() const override { return samples_.classes; }
  std::int64_t label(std::size_t index) const override { return samples_.labels[index]; }
  void read(std::size_t index, std::span<float> out) const override;

 private:
  Samples samples_;
  std::vector<float> tables_;  // of 256 values, one table a channel: a pixel is normalised by looking it up
};

}  // namespace veche
