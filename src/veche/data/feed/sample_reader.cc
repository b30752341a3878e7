#include "veche/data/feed/sample_reader.h"

#include <stdexcept>

namespace veche {

SampleReader::SampleReader(const Dataset& data, const Augmentation& changes) : room_(data.shape().size()) {
  if (changes.none()) return;
  if (dynamic_cast<const PixelSet*>(&data) == nullptr)
    throw std::invalid_argument("only sets of images can be augmented");
  augmenter_.emplace(changes, data.shape());
}

void SampleReader::read(const Dataset& data, std::size_t index, std::span<float> out) {
  const auto* images = dynamic_cast<const PixelSet*>(&data);
  if (images == nullptr) return data.read(index, out);  // already floats
  room_.resize(out.size());
  images->tables().normalize(images->pixels(index, room_), out);
}

void SampleReader::read(const Dataset& data, std::size_t index, const RandomStream& random,
                        std::span<float> out) {
  if (!augmenter_) return read(data, index, out);
  const auto& images = static_cast<const PixelSet&>(data);
  if (const double least = augmenter_->least_part(); least > 0) {
    RandomStream chances = random;
    const auto choose = [&](int width, int height) { return random_part(width, height, least, chances); };
    if (const auto part = images.part(index, choose, room_))
      return augmenter_->apply_to_part(*part, images.tables(), chances, out);
  }
  augmenter_->apply(images.pixels(index, room_), images.tables(), random, out);
}

}  // namespace veche
