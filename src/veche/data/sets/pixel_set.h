#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "veche/data/formats/image/image.h"
#include "veche/dataset.h"

namespace veche {

// Mean and deviation per channel, for pixels in 0 .. 1. A single entry applies to all channels.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> deviation;
};

// Lookup tables from byte to normalised float, per channel.
class PixelTables {
 public:
  static constexpr std::size_t kLevels = 256;

  // Throws std::invalid_argument if the normalisation does not fit the number of channels.
  PixelTables(int channels, const Normalization& normalization);

  const float* of_channel(std::size_t channel) const { return values_.data() + channel * kLevels; }
  // Rows of interleaved pixels; as many floats as bytes.
  void normalize(std::span<const std::uint8_t> pixels, std::span<float> out) const;

 private:
  std::size_t channels_;
  std::vector<float> values_;
};

// Selects a part of an image of the given size.
using ChoosePart = std::function<Box(int width, int height)>;

// Base class of image sets: images of one size, stored as bytes in any form. The reader normalises
// them, and augments them in training, in one pass into a batch.
class PixelSet : public Dataset {
 public:
  Shape shape() const final { return shape_; }
  const Normalization& normalization() const { return normalization_; }
  const PixelTables& tables() const { return tables_; }

  // The bytes of one sample: shape().size() bytes of interleaved pixels. Either in place, or
  // decoded into `room`, which has that size. Valid as long as both the set and `room`.
  virtual std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const = 0;

  // The same from another part of the original image from which the sample was cropped and resized;
  // nullopt if there is no such original.
  virtual std::optional<std::span<const std::uint8_t>> part(std::size_t /*index*/,
                                                            const ChoosePart& /*choose*/,
                                                            std::span<std::uint8_t> /*room*/) const {
    return std::nullopt;
  }

  void read(std::size_t index, std::span<float> out) const final;

 protected:
  PixelSet(const Shape& shape, Normalization normalization);

 private:
  Shape shape_;
  Normalization normalization_;
  PixelTables tables_;
};

}  // namespace veche
