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

  const std::vector<JoinedPart>& parts() const { return parts_; }
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

// Samples of the parts, for every kind of samples.
template <class Base>
class Joined : public Base, private TokenSamples, private ValueTargets, private TargetWeights {
 public:
  template <class... Args>
  Joined(std::vector<JoinedPart> parts, int classes, const Args&... of_base)
      : Base(of_base...), first_(parts.front().data), places_(std::move(parts)), classes_(classes) {}

  std::size_t size() const override { return places_.size(); }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override {
    return first_->task() == Task::classification ? places_.label(index) : 0;
  }
  const TokenSamples* tokens() const override { return first_->tokens() != nullptr ? this : nullptr; }
  const ValueTargets* values() const override { return first_->values() != nullptr ? this : nullptr; }
  const TargetWeights* weights() const override { return first_->weights() != nullptr ? this : nullptr; }

 protected:
  const Places& places() const { return places_; }

 private:
  void read_tokens(std::size_t index, std::span<std::int32_t> out) const override {
    const auto place = places_.find(index);
    place.part.data->tokens()->read_tokens(place.index, out);
  }
  double characters_per_token() const override {
    double characters = 0;
    for (const JoinedPart& part : places_.parts())
      characters += static_cast<double>(part.data->size()) * part.data->tokens()->characters_per_token();
    return characters / static_cast<double>(size());
  }
  float value(std::size_t index) const override {
    const auto place = places_.find(index);
    return place.part.data->values()->value(place.index);
  }
  // The sites of a run have one scale.
  double mean() const override { return first_->values()->mean(); }
  double deviation() const override { return first_->values()->deviation(); }
  void read_weights(std::size_t index, std::span<float> out) const override {
    const auto place = places_.find(index);
    place.part.data->weights()->read_weights(place.index, out);
  }

  const std::shared_ptr<const Dataset> first_;
  const Places places_;
  const int classes_;
};

class JoinedImages final : public Joined<PixelSet> {
 public:
  using Joined::Joined;
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override {
    const auto place = places().find(index);
    return static_cast<const PixelSet&>(*place.part.data).pixels(place.index, room);
  }
  std::optional<std::span<const std::uint8_t>> part(std::size_t index, const ChoosePart& choose,
                                                    std::span<std::uint8_t> room) const override {
    const auto place = places().find(index);
    return static_cast<const PixelSet&>(*place.part.data).part(place.index, choose, room);
  }
};

class JoinedFloats final : public Joined<Dataset> {
 public:
  using Joined::Joined;
  Shape shape() const override { return places().parts().front().data->shape(); }
  void read(std::size_t index, std::span<float> out) const override {
    const auto place = places().find(index);
    place.part.data->read(place.index, out);
  }
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
  const auto is_like_first = [&](const JoinedPart& part) {
    return part.data->task() == parts.front().data->task() &&
           (part.data->weights() == nullptr) == (parts.front().data->weights() == nullptr);
  };
  if (!std::ranges::all_of(parts, is_like_first))
    throw std::invalid_argument("sets of different tasks cannot be joined");
  if (!std::ranges::all_of(parts, is_images))
    return std::make_shared<JoinedFloats>(std::move(parts), classes);
  const Normalization normalization = pooled(parts);
  return std::make_shared<JoinedImages>(std::move(parts), classes, shape, normalization);
}

}  // namespace veche
