#include "veche/data/sets/borrowed_set.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "veche/data/sets/pixel_set.h"
#include "veche/packed.h"

namespace veche {
namespace {

const PixelSet* as_images(const Dataset& data) { return dynamic_cast<const PixelSet*>(&data); }

// Not from a pool: exactly the size needed, freed when no longer used.
Message unpooled(std::size_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  const auto free = [](std::byte* memory) { ::operator delete(memory, kAlignment); };
  return {{static_cast<std::byte*>(::operator new(bytes, kAlignment)), free}, bytes};
}

struct RecordSizes {
  explicit RecordSizes(const Dataset& data) {
    const std::size_t size = data.shape().size();
    if (data.weights() != nullptr) weights = data.targets_per_sample() * sizeof(float);
    if (data.tokens() != nullptr) {
      content = (size + 1) * sizeof(std::int32_t);
      return;
    }
    target = data.values() != nullptr ? sizeof(float) : sizeof(std::int64_t);
    content = as_images(data) != nullptr ? size : size * sizeof(float);
  }
  std::size_t each() const { return target + weights + content; }

  std::size_t target = 0, weights = 0, content = 0;
};

template <class T>
T as_item(std::span<const std::byte> bytes) {
  T item{};
  std::memcpy(&item, bytes.data(), sizeof item);
  return item;
}

void copy_to(std::span<const std::byte> bytes, auto out) {
  std::memcpy(out.data(), bytes.data(), bytes.size());
}

// A borrowed sample, or else that of the set itself, for every kind of samples.
template <class Base>
class Visited : public Base, private TokenSamples, private ValueTargets, private TargetWeights {
 public:
  template <class... Args>
  Visited(std::shared_ptr<const Dataset> data, std::shared_ptr<const BorrowedSamples> borrowed,
          const Args&... of_base)
      : Base(of_base...), data_(std::move(data)), borrowed_(std::move(borrowed)) {}

  std::size_t size() const override { return data_->size(); }
  int classes() const override { return data_->classes(); }
  std::int64_t label(std::size_t index) const override {
    const auto* sample = borrowed_->find(index);
    return sample != nullptr && data_->task() == Task::classification ? as_item<std::int64_t>(sample->target)
                                                                      : data_->label(index);
  }
  const TokenSamples* tokens() const override { return data_->tokens() != nullptr ? this : nullptr; }
  const ValueTargets* values() const override { return data_->values() != nullptr ? this : nullptr; }
  const TargetWeights* weights() const override { return data_->weights() != nullptr ? this : nullptr; }

 protected:
  const Dataset& data() const { return *data_; }
  const BorrowedSamples::Sample* find(std::size_t index) const { return borrowed_->find(index); }

 private:
  void read_tokens(std::size_t index, std::span<std::int32_t> out) const override {
    const auto* sample = find(index);
    sample != nullptr ? copy_to(sample->content, out) : data_->tokens()->read_tokens(index, out);
  }
  double characters_per_token() const override { return data_->tokens()->characters_per_token(); }
  float value(std::size_t index) const override {
    const auto* sample = find(index);
    return sample != nullptr ? as_item<float>(sample->target) : data_->values()->value(index);
  }
  void read_weights(std::size_t index, std::span<float> out) const override {
    const auto* sample = find(index);
    sample != nullptr ? copy_to(sample->weights, out) : data_->weights()->read_weights(index, out);
  }

  const std::shared_ptr<const Dataset> data_;
  const std::shared_ptr<const BorrowedSamples> borrowed_;
};

// Borrowed samples arrive in their stored form, not as the original images. Local samples therefore
// have no `part` either, so that the result does not depend on where a sample is read.
class VisitedImages final : public Visited<PixelSet> {
 public:
  using Visited::Visited;
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override {
    const auto* sample = find(index);
    if (sample == nullptr) return static_cast<const PixelSet&>(data()).pixels(index, room);
    return {reinterpret_cast<const std::uint8_t*>(sample->content.data()), sample->content.size()};
  }
};

class VisitedFloats final : public Visited<Dataset> {
 public:
  using Visited::Visited;
  Shape shape() const override { return data().shape(); }
  void read(std::size_t index, std::span<float> out) const override {
    const auto* sample = find(index);
    sample != nullptr ? copy_to(sample->content, out) : data().read(index, out);
  }
};

// Writes the samples of a set to a message, one after the other.
class RecordWriter {
 public:
  explicit RecordWriter(const Dataset& data)
      : data_(data), sizes_(data), weights_(sizes_.weights / sizeof(float)) {
    const std::size_t size = data.shape().size();
    if (data.tokens() != nullptr)
      tokens_.resize(size + 1);
    else if (as_images(data) != nullptr)
      pixels_.resize(size);
    else
      numbers_.resize(size);
  }

  std::byte* write(std::size_t index, std::byte* out) {
    out = write_target(index, out);
    if (sizes_.weights > 0) {
      data_.weights()->read_weights(index, weights_);
      out = put(std::as_bytes(std::span(weights_)), out);
    }
    if (data_.tokens() != nullptr) {
      data_.tokens()->read_tokens(index, tokens_);
      return put(std::as_bytes(std::span(tokens_)), out);
    }
    if (const PixelSet* images = as_images(data_))
      return put(std::as_bytes(images->pixels(index, pixels_)), out);
    data_.read(index, numbers_);
    return put(std::as_bytes(std::span(numbers_)), out);
  }

 private:
  std::byte* write_target(std::size_t index, std::byte* out) const {
    if (sizes_.target == 0) return out;
    if (data_.values() != nullptr) return put(bytes_of(data_.values()->value(index)), out);
    return put(bytes_of(data_.label(index)), out);
  }
  static std::byte* put(std::span<const std::byte> bytes, std::byte* out) {
    return std::ranges::copy(bytes, out).out;
  }

  const Dataset& data_;
  const RecordSizes sizes_;
  std::vector<float> weights_, numbers_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace

std::size_t BorrowedSamples::bytes_each(const Dataset& data) { return RecordSizes(data).each(); }

Message BorrowedSamples::pack(const Dataset& data, std::span<const std::uint32_t> samples) {
  Message message = unpooled(samples.size() * bytes_each(data));
  std::byte* out = message.writable<std::byte>().data();
  RecordWriter writer(data);
  for (const std::uint32_t sample : samples) out = writer.write(sample, out);
  return message;
}

void BorrowedSamples::dismiss() {
  places_.clear();
  messages_.clear();
}

void BorrowedSamples::admit(const Dataset& data, std::span<const std::uint32_t> samples, Message message,
                            NodeId from) {
  const RecordSizes sizes(data);
  const std::size_t each = sizes.each();
  if (message.size() != samples.size() * each)
    throw BadMessage(from, message.size(),
                     "a message of " + std::to_string(samples.size()) + " samples of " +
                         std::to_string(each) + " bytes, as all nodes have in the same data,");
  for (std::span<const std::byte> left = message.bytes(); const std::uint32_t index : samples) {
    const std::span<const std::byte> record = left.first(each);
    places_.push_back({index,
                       {.target = record.first(sizes.target),
                        .weights = record.subspan(sizes.target, sizes.weights),
                        .content = record.last(sizes.content)}});
    left = left.subspan(each);
  }
  const auto middle = places_.end() - static_cast<std::ptrdiff_t>(samples.size());
  std::ranges::inplace_merge(places_, middle, {}, &Place::index);
  messages_.push_back(std::move(message));
}

const BorrowedSamples::Sample* BorrowedSamples::find(std::size_t index) const {
  const auto found = std::ranges::lower_bound(places_, index, {}, &Place::index);
  return found != places_.end() && found->index == index ? &found->sample : nullptr;
}

std::shared_ptr<const Dataset> with_visitors(std::shared_ptr<const Dataset> data,
                                             std::shared_ptr<const BorrowedSamples> borrowed) {
  if (const PixelSet* images = as_images(*data))
    return std::make_shared<VisitedImages>(data, std::move(borrowed), images->shape(),
                                           images->normalization());
  return std::make_shared<VisitedFloats>(std::move(data), std::move(borrowed));
}

}  // namespace veche
