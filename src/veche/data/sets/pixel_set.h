#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "veche/data/formats/image/image.h"
#include "veche/dataset.h"

namespace veche {

// What is subtracted and divided by, per channel, for pixels taken as 0 .. 1. A single entry serves all
// channels.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> deviation;
};

// What every byte becomes, channel by channel: a pixel is normalised by looking it up.
class PixelTables {
 public:
  static constexpr std::size_t kLevels = 256;

  // Throws std::invalid_argument when the normalisation does not fit the number of channels.
  PixelTables(int channels, const Normalization& normalization);

  const float* of_channel(std::size_t channel) const { return values_.data() + channel * kLevels; }
  // Rows of pixels with their channels together; as many floats as bytes.
  void normalize(std::span<const std::uint8_t> pixels, std::span<float> out) const;

 private:
  std::size_t channels_;
  std::vector<float> values_;
};

// Which part of an image of that size is wanted.
using ChoosePart = std::function<Box(int width, int height)>;

// Samples that are images of one size, kept as bytes in whatever form: what sets of images derive from. Who
// reads them decides what they become: normalised, and in training augmented, in one pass into a batch.
class PixelSet : public Dataset {
 public:
  Shape shape() const final { return shape_; }
  const Normalization& normalization() const { return normalization_; }
  const PixelTables& tables() const { return tables_; }

  // The bytes of one sample, rows of pixels with their channels together, shape().size() of them: where they
  // lie, when the set holds them so, else decoded into `room`, which has that size. Valid as long as both.
  virtual std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const = 0;

  // The same from another part of the image that the sample was cut from and made smaller; none where the
  // sample is all there is.
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
