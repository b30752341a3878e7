#include "veche/data/sets/joined_set.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace veche {
namespace {

// Maps a sample to its part and its number there.
class Places {
 public:
  explicit Places(std::vector<JoinedPart> parts) : parts_(std::move(parts)) {
    for (const JoinedPart& part : parts_) ends_.push_back(size() + part.data->size());
  }

  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  struct Place {
    const JoinedPart& part;
    std::size_t index;
  };
  Place find(std::size_t index) const {
    const auto end = std::ranges::upper_bound(ends_, index);
    const auto part = static_cast<std::size_t>(end - ends_.begin());
    return {parts_[part], index - (part == 0 ? 0 : ends_[part - 1])};
  }
  std::int64_t label(std::size_t index) const {
    const Place place = find(index);
    return place.part.labels.at(static_cast<std::size_t>(place.part.data->label(place.index)));
  }

 private:
  std::vector<JoinedPart> parts_;
  std::vector<std::size_t> ends_;
};

class JoinedImages final : public PixelSet {
 public:
  JoinedImages(const Shape& shape, const Normalization& normalization, std::vector<JoinedPart> parts,
               int classes)
      : PixelSet(shape, normalization), places_(std::move(parts)), classes_(classes) {}

  std::size_t size() const override { return places_.size(); }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override { return places_.label(index); }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override {
    const auto place = places_.find(index);
    return static_cast<const PixelSet&>(*place.part.data).pixels(place.index, room);
  }
  std::optional<std::span<const std::uint8_t>> part(std::size_t index, const ChoosePart& choose,
                                                    std::span<std::uint8_t> room) const override {
    const auto place = places_.find(index);
    return static_cast<const PixelSet&>(*place.part.data).part(place.index, choose, room);
  }

 private:
  const Places places_;
  const int classes_;
};

class JoinedFloats final : public Dataset {
 public:
  JoinedFloats(const Shape& shape, std::vector<JoinedPart> parts, int classes)
      : shape_(shape), places_(std::move(parts)), classes_(classes) {}

  std::size_t size() const override { return places_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override { return places_.label(index); }
  void read(std::size_t index, std::span<float> out) const override {
    const auto place = places_.find(index);
    place.part.data->read(place.index, out);
  }

 private:
  const Shape shape_;
  const Places places_;
  const int classes_;
};

// Mean and deviation of all pixels, from those of the parts.
Normalization pooled(const std::vector<JoinedPart>& parts) {
  const auto channels = static_cast<std::size_t>(parts.front().data->shape().channels);
  std::vector<double> mean(channels), square(channels);
  double all = 0;
  for (const JoinedPart& part : parts) all += static_cast<double>(part.data->size());
  for (const JoinedPart& part : parts) {
    const Normalization& own = static_cast<const PixelSet&>(*part.data).normalization();
    const double weight = static_cast<double>(part.data->size()) / all;
    for (std::size_t c = 0; c < channels; ++c) {
      const double m = own.mean[own.mean.size() == 1 ? 0 : c];
      const double d = own.deviation[own.deviation.size() == 1 ? 0 : c];
      mean[c] += weight * m;
      square[c] += weight * (d * d + m * m);
    }
  }
  for (std::size_t c = 0; c < channels; ++c) square[c] = std::sqrt(square[c] - mean[c] * mean[c]);
  return {.mean = mean, .deviation = square};
}

bool is_images(const JoinedPart& part) { return dynamic_cast<const PixelSet*>(part.data.get()) != nullptr; }

}  // namespace

std::shared_ptr<const Dataset> join(std::vector<JoinedPart> parts, int classes) {
  if (parts.empty()) throw std::invalid_argument("nothing to join");
  const Shape shape = parts.front().data->shape();
  if (!std::ranges::all_of(parts, [&](const JoinedPart& part) { return part.data->shape() == shape; }))
    throw std::invalid_argument("sets of different shapes cannot be joined");
  if (!std::ranges::all_of(parts, is_images))
    return std::make_shared<JoinedFloats>(shape, std::move(parts), classes);
  const Normalization normalization = pooled(parts);
  return std::make_shared<JoinedImages>(shape, normalization, std::move(parts), classes);
}

}  // namespace veche
