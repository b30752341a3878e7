#include "veche/data/sets/moments.h"

#include <cmath>

namespace veche {

void Moments::add(std::span<const std::uint8_t> pixels) {
  for (std::size_t c = 0; c < channels_; ++c) {
    std::uint64_t sum = 0, squares = 0;
    for (std::size_t i = c; i < pixels.size(); i += channels_) {
      const std::uint64_t value = pixels[i];
      sum += value;
      squares += value * value;
    }
    sums_[c] += sum;
    squares_[c] += squares;
  }
  pixels_ += pixels.size() / channels_;
}

void Moments::add(const Moments& other) {
  for (std::size_t c = 0; c < channels_; ++c) {
    sums_[c] += other.sums_.at(c);
    squares_[c] += other.squares_.at(c);
  }
  pixels_ += other.pixels_;
}

Normalization Moments::normalization() const {
  constexpr double kWhite = 255;
  Normalization result;
  for (std::size_t c = 0; c < channels_; ++c) {
    const auto count = static_cast<double>(pixels_);
    const double mean = pixels_ == 0 ? 0 : static_cast<double>(sums_[c]) / count;
    const double variance = pixels_ == 0 ? 0 : static_cast<double>(squares_[c]) / count - mean * mean;
    result.mean.push_back(mean / kWhite);
    result.deviation.push_back(variance > 0 ? std::sqrt(variance) / kWhite : 1);
  }
  return result;
}

}  // namespace veche
