#include "veche/data/sets/pixel_set.h"

#include <stdexcept>
#include <utility>

namespace veche {
namespace {

// The number of channels is a compile-time constant where it matters, so that the inner loop is
// unrolled.
template <std::size_t kChannels>
void look_up(const std::uint8_t* pixels, const float* tables, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += kChannels) {
    for (std::size_t c = 0; c < kChannels; ++c) out[i + c] = tables[c * PixelTables::kLevels + pixels[i + c]];
  }
}

void look_up(const std::uint8_t* pixels, const float* tables, std::size_t channels, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) out[i + c] = tables[c * PixelTables::kLevels + pixels[i + c]];
  }
}

double of_channel(const std::vector<double>& values, std::size_t channel) {
  return values.size() == 1 ? values[0] : values.at(channel);
}

}  // namespace

PixelTables::PixelTables(int channels, const Normalization& normalization)
    : channels_(static_cast<std::size_t>(channels)), values_(channels_ * kLevels) {
  for (const auto* values : {&normalization.mean, &normalization.deviation}) {
    if (values->size() != 1 && values->size() != channels_)
      throw std::invalid_argument("a normalisation has one entry, or one for each channel");
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t channel = i / kLevels;
    const double value = static_cast<double>(i % kLevels) / (kLevels - 1);
    values_[i] = static_cast<float>((value - veche::of_channel(normalization.mean, channel)) /
                                    veche::of_channel(normalization.deviation, channel));
  }
}

void PixelTables::normalize(std::span<const std::uint8_t> pixels, std::span<float> out) const {
  switch (channels_) {
    case 1:
      return look_up<1>(pixels.data(), values_.data(), out);
    case 3:
      return look_up<3>(pixels.data(), values_.data(), out);
    default:
      return look_up(pixels.data(), values_.data(), channels_, out);
  }
}

PixelSet::PixelSet(const Shape& shape, Normalization normalization)
    : shape_(shape), normalization_(std::move(normalization)), tables_(shape.channels, normalization_) {}

void PixelSet::read(std::size_t index, std::span<float> out) const {
  std::vector<std::uint8_t> room(shape_.size());
  tables_.normalize(pixels(index, room), out);
}

}  // namespace veche
