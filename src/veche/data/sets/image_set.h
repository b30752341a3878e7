#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veche/base/files/mapped_file.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/substitutes.h"

namespace veche {

// Images as bytes, and a label each. Where they lie is not said: in mapped files, of which nothing is read
// before it is looked at, or in memory of their own.
struct Samples {
  Shape shape;
  int classes = 0;
  bool planes = false;  // channel after channel; else rows of pixels with their channels together
  std::vector<const std::uint8_t*> places = {};
  std::vector<std::int64_t> labels = {};
  std::vector<std::shared_ptr<const void>> owners = {};  // of the memory they lie in, unless that is files
  MappedFiles files = {};

  void add(const std::uint8_t* place, std::int64_t label) {
    places.push_back(place);
    labels.push_back(label);
  }
  // The bytes of one with its channels together, in `room` when they do not lie so.
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const;
  // The file that one lies in; null: none.
  const MappedFile* file(std::size_t index) const { return file_of(files, {places[index], shape.size()}); }
};

// Sample after sample in memory of their own, channels together. Throws std::invalid_argument when the parts
// do not fit together.
Samples samples_of(const Shape& shape, int classes, std::vector<std::uint8_t> pixels,
                   std::vector<std::int64_t> labels);

// Images kept as bytes: a quarter of the floats they become when they are read.
class ImageSet final : public PixelSet {
 public:
  ImageSet(Samples samples, const Normalization& normalization, DamagePolicy policy = {});

  std::size_t size() const override { return samples_.labels.size(); }
  int classes() const override { return samples_.classes; }
  std::int64_t label(std::size_t index) const override { return samples_.labels[index]; }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override;

 private:
  const Samples samples_;
  const Substitutes substitutes_;
};

}  // namespace veche
