#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/random.h"

namespace veche {

// Random changes of training images that leave their class as it is. The order is that of the fields.
struct Augmentation {
  double resized_crop = 0;  // a random part of at least this fraction of the area, stretched to the whole
  int crop = 0;             // moved by up to so many pixels each way, black where nothing is
  bool flip = false;        // left and right exchanged in every second image
  int cutout = 0;           // the side of a square that is set to the mean

  bool none() const { return resized_crop == 0 && crop == 0 && !flip && cutout == 0; }
  bool operator==(const Augmentation&) const = default;
};

// `spec` is "none" or changes joined by +, such as crop:4+flip:
//   crop:P  flip  cutout:S  resized-crop  resized-crop:LEAST
// Throws RequestError naming data.augment when a change is unknown, given twice or does not fit `shape`.
Augmentation read_augmentation(std::string_view spec, const Shape& shape);

// A random part of an image of that size, as is customary: its area uniform from `least` of the whole on, the
// logarithm of width over height uniform between 3/4 and 4/3; ten tries to fit, then the largest in the
// middle with sides no more unequal than that.
Box random_part(int width, int height, double least, RandomStream& random);

// Normalises and changes images in one pass. One thread at a time; allocates nothing after construction.
class Augmenter {
 public:
  Augmenter(const Augmentation& changes, const Shape& shape);

  // What happens to the image is drawn from `random` alone.
  void apply(std::span<const std::uint8_t> pixels, const PixelTables& tables, RandomStream random,
             std::span<float> out);
  // The least part of the area that resized-crop takes; 0: it is not asked for.
  double least_part() const { return changes_.resized_crop; }
  // The rest, on an image of which such a part was taken already.
  void apply_to_part(std::span<const std::uint8_t> pixels, const PixelTables& tables, RandomStream random,
                     std::span<float> out) const;

 private:
  // Where a column of the result comes from: between two columns, by weight.
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
