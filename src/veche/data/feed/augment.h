#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/random.h"

namespace veche {

// Random changes of training images that preserve their class, applied in the order of the fields.
struct Augmentation {
  double resized_crop = 0;  // a random part of at least this fraction of the area, resized to the whole
  int crop = 0;             // random shift by up to this many pixels per axis, filled with black
  bool flip = false;        // mirrors every second image on average
  int cutout = 0;           // side of a random square that is set to the mean

  bool none() const { return resized_crop == 0 && crop == 0 && !flip && cutout == 0; }
  bool operator==(const Augmentation&) const = default;
};

// `spec` is "none" or changes joined by +, such as crop:4+flip:
//   crop:P  flip  cutout:S  resized-crop  resized-crop:LEAST
// Throws RequestError naming data.augment if a change is unknown, repeated or does not fit `shape`.
Augmentation read_augmentation(std::string_view spec, const Shape& shape);

// A random part of an image, drawn as is customary: the area uniform from `least` of the whole to
// 1, the logarithm of width over height uniform between 3/4 and 4/3. After ten parts that do not
// fit, returns the largest central one within these aspect ratios.
Box random_part(int width, int height, double least, RandomStream& random);

// Normalises and augments images in one pass. One thread at a time. Allocates nothing after
// construction.
class Augmenter {
 public:
  Augmenter(const Augmentation& changes, const Shape& shape);

  // The changes depend only on `random`.
  void apply(std::span<const std::uint8_t> pixels, const PixelTables& tables, RandomStream random,
             std::span<float> out);
  // The least fraction of the area that resized-crop takes; 0 if disabled.
  double least_part() const { return changes_.resized_crop; }
  // Applies the other changes to an image from which the part was already taken.
  void apply_to_part(std::span<const std::uint8_t> pixels, const PixelTables& tables, RandomStream random,
                     std::span<float> out) const;

 private:
  // Source of an output column: two input columns and a weight.
  struct Between {
    std::size_t first, second;
    float part;
  };
  Between between(int position, int from, int length, int count) const;
  void move(int dx, int dy, bool flip, std::span<const std::uint8_t> pixels, const PixelTables& tables,
            std::span<float> out) const;
  void stretch(const Box& box, bool flip, std::span<const std::uint8_t> pixels, const PixelTables& tables,
               std::span<float> out);
  void cut_out(RandomStream& random, std::span<float> out) const;

  const Augmentation changes_;
  const Shape shape_;
  std::vector<Between> columns_;
};

}  // namespace veche
