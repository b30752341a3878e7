#include "veche/data/sets/borrowed_set.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "veche/data/sets/pixel_set.h"
#include "veche/packed.h"

namespace veche {
namespace {

constexpr std::size_t kLabel = sizeof(std::int64_t);

const PixelSet* as_images(const Dataset& data) { return dynamic_cast<const PixelSet*>(&data); }

// Not from a pool: exactly the size needed, freed when no longer used.
Message unpooled(std::size_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  const auto free = [](std::byte* memory) { ::operator delete(memory, kAlignment); };
  return {{static_cast<std::byte*>(::operator new(bytes, kAlignment)), free}, bytes};
}

// Borrowed samples arrive in their stored form, not as the original images. Local samples therefore
// have no `part` either, so that the result does not depend on where a sample is read.
class BorrowedImages final : public PixelSet {
 public:
  BorrowedImages(std::shared_ptr<const Dataset> data, std::shared_ptr<const BorrowedSamples> borrowed)
      : PixelSet(data->shape(), as_images(*data)->normalization()),
        data_(std::move(data)),
        borrowed_(std::move(borrowed)) {}

  std::size_t size() const override { return data_->size(); }
  int classes() const override { return data_->classes(); }
  std::int64_t label(std::size_t index) const override {
    const BorrowedSamples::Sample* borrowed_sample = borrowed_->find(index);
    return borrowed_sample != nullptr ? borrowed_sample->label : data_->label(index);
  }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override {
    const BorrowedSamples::Sample* borrowed_sample = borrowed_->find(index);
    if (borrowed_sample == nullptr) return static_cast<const PixelSet&>(*data_).pixels(index, room);
    return {reinterpret_cast<const std::uint8_t*>(borrowed_sample->bytes.data()),
            borrowed_sample->bytes.size()};
  }

 private:
  const std::shared_ptr<const Dataset> data_;
  const std::shared_ptr<const BorrowedSamples> borrowed_;
};

class BorrowedFloats final : public Dataset {
 public:
  BorrowedFloats(std::shared_ptr<const Dataset> data, std::shared_ptr<const BorrowedSamples> borrowed)
      : data_(std::move(data)), borrowed_(std::move(borrowed)) {}

  std::size_t size() const override { return data_->size(); }
  Shape shape() const override { return data_->shape(); }
  int classes() const override { return data_->classes(); }
  std::int64_t label(std::size_t index) const override {
    const BorrowedSamples::Sample* borrowed_sample = borrowed_->find(index);
    return borrowed_sample != nullptr ? borrowed_sample->label : data_->label(index);
  }
  void read(std::size_t index, std::span<float> out) const override {
    const BorrowedSamples::Sample* borrowed_sample = borrowed_->find(index);
    if (borrowed_sample == nullptr) return data_->read(index, out);
    std::memcpy(out.data(), borrowed_sample->bytes.data(), borrowed_sample->bytes.size());
  }

 private:
  const std::shared_ptr<const Dataset> data_;
  const std::shared_ptr<const BorrowedSamples> borrowed_;
};

}  // namespace

std::size_t BorrowedSamples::bytes_each(const Dataset& data) {
  return kLabel + data.shape().size() * (as_images(data) != nullptr ? 1 : sizeof(float));
}

Message BorrowedSamples::pack(const Dataset& data, std::span<const std::uint32_t> samples) {
  const std::size_t each = bytes_each(data), size = data.shape().size();
  Message message = unpooled(samples.size() * each);
  std::byte* out = message.writable<std::byte>().data();
  const PixelSet* images = as_images(data);
  std::vector<std::uint8_t> room(images != nullptr ? size : 0);
  std::vector<float> numbers(images != nullptr ? 0 : size);
  for (const std::uint32_t sample : samples) {
    const std::int64_t label = data.label(sample);
    std::memcpy(out, &label, kLabel);
    if (images != nullptr) {
      std::memcpy(out + kLabel, images->pixels(sample, room).data(), size);
    } else {
      data.read(sample, numbers);
      std::memcpy(out + kLabel, numbers.data(), each - kLabel);
    }
    out += each;
  }
  return message;
}

void BorrowedSamples::dismiss() {
  places_.clear();
  messages_.clear();
}

void BorrowedSamples::admit(const Dataset& data, std::span<const std::uint32_t> samples, Message message,
                            NodeId from) {
  const std::size_t each = bytes_each(data);
  if (message.size() != samples.size() * each)
    throw BadMessage(from, message.size(),
                     "a message of " + std::to_string(samples.size()) + " samples of " +
                         std::to_string(each) + " bytes, as all nodes have in the same data,");
  const std::byte* at = message.bytes().data();
  for (const std::uint32_t index : samples) {
    Sample sample{.label = 0, .bytes = {at + kLabel, each - kLabel}};
    std::memcpy(&sample.label, at, kLabel);
    places_.push_back({index, sample});
    at += each;
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
  if (as_images(*data) != nullptr)
    return std::make_shared<BorrowedImages>(std::move(data), std::move(borrowed));
  return std::make_shared<BorrowedFloats>(std::move(data), std::move(borrowed));
}

}  // namespace veche
