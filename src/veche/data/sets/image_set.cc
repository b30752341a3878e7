#include "veche/data/sets/image_set.h"

#include <fmt/format.h>

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

ImageSet::ImageSet(Samples samples, const Normalization& normalization, DamagePolicy policy)
    : PixelSet(samples.shape, normalization),
      samples_(std::move(samples)),
      substitutes_({.size = samples_.labels.size(),
                    .label = [this](std::size_t i) { return samples_.labels[i]; },
                    .name =
                        [this](std::size_t i) {
                          const MappedFile* file = samples_.file(i);
                          return fmt::format("{}: sample {}", file != nullptr ? file->path().string() : "",
                                             i);
                        }},
                   std::move(policy)) {}

std::span<const std::uint8_t> ImageSet::pixels(std::size_t index, std::span<std::uint8_t> room) const {
  if (samples_.files.empty()) return samples_.pixels(index, room);
  return substitutes_.read(index, [&](std::size_t i) {
    const MappedFile* file = samples_.file(i);
    if (file != nullptr && !file->still_has({samples_.places[i], shape().size()}))
      throw Damaged("was cut off while the file was in use");
    return samples_.pixels(i, room);
  });
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
