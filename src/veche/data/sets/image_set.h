#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veche/base/files/mapped_file.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/substitutes.h"

namespace veche {

// Images as bytes, with a label each, either in mapped files, which are read on access, or in owned
// memory.
struct Samples {
  Shape shape;
  int classes = 0;
  bool planes = false;  // planar; otherwise channels are interleaved
  std::vector<const std::uint8_t*> places = {};
  std::vector<std::int64_t> labels = {};
  std::vector<std::shared_ptr<const void>> owners = {};  // own the memory if it is not mapped
  MappedFiles files = {};

  void add(const std::uint8_t* place, std::int64_t label) {
    places.push_back(place);
    labels.push_back(label);
  }
  // The bytes of one sample with interleaved channels, converted into `room` if necessary.
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const;
  // The mapped file that contains a sample, or null.
  const MappedFile* file(std::size_t index) const { return file_of(files, {places[index], shape.size()}); }
};

// Makes samples that own their memory, with interleaved channels. Throws std::invalid_argument if
// the parts do not fit together.
Samples samples_of(const Shape& shape, int classes, std::vector<std::uint8_t> pixels,
                   std::vector<std::int64_t> labels);

// Images kept as bytes: a quarter of the size of the floats they become.
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
