#include "veche/data/image_set.h"

#include <stdexcept>

namespace veche {

ImageSet::ImageSet(Samples samples, const Normalization& normalization)
    : PixelSet(samples.shape, normalization), samples_(std::move(samples)) {
  if (samples_.pixels.size() != samples_.labels.size() * samples_.shape.size())
    throw std::invalid_argument("the number of pixels does not fit the number of labels");
}

std::span<const std::uint8_t> ImageSet::pixels(std::size_t index, std::span<std::uint8_t>) const {
  const std::size_t size = samples_.shape.size();
  return std::span(samples_.pixels).subspan(index * size, size);
}

}  // namespace veche
