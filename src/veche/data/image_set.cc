#include "veche/data/image_set.h"

#include <stdexcept>

namespace veche {
namespace {

constexpr std::size_t kLevels = 256;

// The number of channels is known to the compiler where it matters, so that the inner loop disappears.
template <std::size_t kChannels>
void normalize(const std::uint8_t* pixels, const float* tables, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += kChannels) {
    for (std::size_t c = 0; c < kChannels; ++c) out[i + c] = tables[c * kLevels + pixels[i + c]];
  }
}

void normalize(const std::uint8_t* pixels, const float* tables, std::size_t channels, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) out[i + c] = tables[c * kLevels + pixels[i + c]];
  }
}

double of_channel(const std::vector<double>& values, std::size_t channel) {
  return values.size() == 1 ? values[0] : values.at(channel);
}

}  // namespace

ImageSet::ImageSet(Samples samples, const Normalization& normalization) : samples_(std::move(samples)) {
  if (samples_.pixels.size() != samples_.labels.size() * samples_.shape.size()) {
    throw std::invalid_argument("the number of pixels does not fit the number of labels");
  }
  const auto channels = static_cast<std::size_t>(samples_.shape.channels);
  for (const auto* values : {&normalization.mean, &normalization.deviation}) {
    if (values->size() != 1 && values->size() != channels) {
      throw std::invalid_argument("a normalisation has one entry, or one for each channel");
    }
  }
  tables_.resize(channels * kLevels);
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const std::size_t channel = i / kLevels;
    const double value = static_cast<double>(i % kLevels) / (kLevels - 1);
    tables_[i] = static_cast<float>((value - of_channel(normalization.mean, channel)) /
                                    of_channel(normalization.deviation, channel));
  }
}

void ImageSet::read(std::size_t index, std::span<float> out) const {
  const std::uint8_t* pixels = samples_.pixels.data() + index * samples_.shape.size();
  switch (samples_.shape.channels) {
    case 1:
      return normalize<1>(pixels, tables_.data(), out);
    case 3:
      return normalize<3>(pixels, tables_.data(), out);
    default:
      return normalize(pixels, tables_.data(), static_cast<std::size_t>(samples_.shape.channels), out);
  }
}

}  // namespace veche
