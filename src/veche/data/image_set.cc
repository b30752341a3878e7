#include "veche/data/image_set.h"

#include <stdexcept>

namespace veche {

std::span<const std::uint8_t> Samples::pixels(std::size_t index, std::span<std::uint8_t> room) const {
  const std::uint8_t* const place = places[index];
  if (!planes) return {place, shape.size()};
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t plane = shape.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t p = 0; p < plane; ++p) room[p * channels + c] = place[c * plane + p];
  return room;
}

Samples samples_of(const Shape& shape, int classes, std::vector<std::uint8_t> pixels,
                   std::vector<std::int64_t> labels) {
  if (pixels.size() != labels.size() * shape.size())
    throw std::invalid_argument("the number of pixels does not fit the number of labels");
  const auto owned = std::make_shared<const std::vector<std::uint8_t>>(std::move(pixels));
  Samples samples{.shape = shape, .classes = classes};
  for (std::size_t i = 0; i < labels.size(); ++i) samples.places.push_back(owned->data() + i * shape.size());
  samples.labels = std::move(labels);
  samples.owners.push_back(owned);
  return samples;
}

}  // namespace veche
