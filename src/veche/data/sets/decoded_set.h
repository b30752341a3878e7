#pragma once

#include <memory>
#include <optional>

#include "veche/data/sets/encoded_set.h"
#include "veche/data/sets/open.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/substitutes.h"

namespace veche {

// How files become images of one shape.
struct Decoding {
  Shape shape;
  bool resize = false;  // resize the shorter side and crop the centre; otherwise other sizes are damage
};

// Image files decoded on demand.
class DecodedSet final : public PixelSet {
 public:
  DecodedSet(std::shared_ptr<const EncodedSet> files, int classes, Decoding decoding,
             const Normalization& normalization, DamagePolicy policy);

  std::size_t size() const override { return files_->size(); }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override { return files_->label(index); }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override;
  std::optional<std::span<const std::uint8_t>> part(std::size_t index, const ChoosePart& choose,
                                                    std::span<std::uint8_t> room) const override;

  const EncodedSet& files() const { return *files_; }
  const Decoding& decoding() const { return decoding_; }

 private:
  const std::shared_ptr<const EncodedSet> files_;
  const int classes_;
  const Decoding decoding_;
  const Substitutes substitutes_;
};

// Decodes one file. Throws Damaged, also for a size or colours that the decoding does not allow.
void decode_into(std::span<const std::uint8_t> bytes, const Decoding& decoding, std::span<std::uint8_t> out);
// Decodes a part of an image, resized to the shape.
void decode_part_into(std::span<const std::uint8_t> bytes, const Shape& shape, const ChoosePart& choose,
                      std::span<std::uint8_t> out);

// The shape and normalisation of a set, from a fixed selection of its files. Throws RequestError if
// sizes differ and the request does not say what to do.
struct Survey {
  Decoding decoding;
  Normalization normalization;
};
Survey survey(const EncodedSet& files, const OpenRequest& request);

}  // namespace veche
