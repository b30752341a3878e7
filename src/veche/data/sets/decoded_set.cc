#include "veche/data/sets/decoded_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/data/formats/image/image.h"
#include "veche/data/sets/moments.h"

namespace veche {
namespace {

// Per-thread buffers for decoding before resizing. Kept, because allocating them for every image
// would cost more than decoding a small one.
struct Room {
  std::vector<std::uint8_t> bytes;
  Image image;
};
Room& room_of_this_thread() {
  thread_local Room room;
  return room;
}

}  // namespace

DecodedSet::DecodedSet(std::shared_ptr<const EncodedSet> files, int classes, Decoding decoding,
                       const Normalization& normalization, DamagePolicy policy)
    : PixelSet(decoding.shape, normalization),
      files_(std::move(files)),
      classes_(classes),
      decoding_(decoding),
      substitutes_({.size = files_->size(),
                    .label = [files = files_.get()](std::size_t i) { return files->label(i); },
                    .name = [files = files_.get()](std::size_t i) { return files->name(i); }},
                   std::move(policy)) {}

std::span<const std::uint8_t> DecodedSet::pixels(std::size_t index, std::span<std::uint8_t> room) const {
  return substitutes_.read(index, [&](std::size_t i) -> std::span<const std::uint8_t> {
    decode_into(files_->bytes(i, room_of_this_thread().bytes), decoding_, room);
    return room;
  });
}

std::optional<std::span<const std::uint8_t>> DecodedSet::part(std::size_t index, const ChoosePart& choose,
                                                              std::span<std::uint8_t> room) const {
  if (!decoding_.resize) return std::nullopt;
  return substitutes_.read(index, [&](std::size_t i) -> std::span<const std::uint8_t> {
    decode_part_into(files_->bytes(i, room_of_this_thread().bytes), decoding_.shape, choose, room);
    return room;
  });
}

void decode_into(std::span<const std::uint8_t> bytes, const Decoding& decoding, std::span<std::uint8_t> out) {
  const Shape& shape = decoding.shape;
  Image& image = room_of_this_thread().image;
  decode_image(bytes, shape.channels, decoding.resize ? shape.height : 0, image);
  if (decoding.resize) return resize_and_crop(image, shape.height, out);
  if (image.width != shape.width || image.height != shape.height)
    throw Damaged(fmt::format("is {}x{} and not {}x{} (data.size makes images equal)", image.width,
                              image.height, shape.width, shape.height));
  std::copy(image.pixels.begin(), image.pixels.end(), out.begin());
}

void decode_part_into(std::span<const std::uint8_t> bytes, const Shape& shape, const ChoosePart& choose,
                      std::span<std::uint8_t> out) {
  const ImageFacts whole = look_at_image(bytes);
  const Box wanted = choose(whole.width, whole.height);
  // The smallest scale at which the part is still as large as the output.
  const double scale = std::max(static_cast<double>(shape.width) / wanted.width,
                                static_cast<double>(shape.height) / wanted.height);
  const int least_side =
      scale < 1 ? static_cast<int>(std::ceil(scale * std::min(whole.width, whole.height))) : 0;
  Image& image = room_of_this_thread().image;
  decode_image(bytes, shape.channels, least_side, image);
  const auto scaled = [](int at, int decoded, int original) {
    return static_cast<int>(std::lround(static_cast<double>(at) * decoded / original));
  };
  const int left = std::min(scaled(wanted.x, image.width, whole.width), image.width - 1);
  const int top = std::min(scaled(wanted.y, image.height, whole.height), image.height - 1);
  const int right = scaled(wanted.x + wanted.width, image.width, whole.width);
  const int bottom = scaled(wanted.y + wanted.height, image.height, whole.height);
  resize_part(image, {left, top, std::max(1, right - left), std::max(1, bottom - top)}, shape.width,
              shape.height, out);
}

Survey survey(const EncodedSet& files, const OpenRequest& request) {
  constexpr std::size_t kLookedAt = 256;
  const std::size_t count = std::min(files.size(), kLookedAt);
  const auto index_of = [&](std::size_t turn) { return turn * files.size() / count; };
  std::vector<std::uint8_t> room;
  // Damage is counted when samples are read; here it matters only if it is refused.
  const auto each_good = [&](const auto& use) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      try {
        use(index_of(turn), files.bytes(index_of(turn), room));
      } catch (const Damaged& damage) {
        if (request.policy.on == OnDamage::refuse)
          request.policy.found(fmt::format("'{}' {}", files.name(index_of(turn)), damage.what()));
      }
    }
  };

  Shape shape;
  std::string first, other;
  int size = request.size;
  each_good([&](std::size_t index, std::span<const std::uint8_t> bytes) {
    const ImageFacts facts = look_at_image(bytes);
    if (first.empty()) {
      shape = {0, facts.height, facts.width};
      first = files.name(index);
    } else if (other.empty() && (facts.width != shape.width || facts.height != shape.height)) {
      other = fmt::format("'{}' is {}x{}, '{}' {}x{}", first, shape.width, shape.height, files.name(index),
                          facts.width, facts.height);
    }
    shape.channels = std::max(shape.channels, facts.channels);
  });
  const std::string place = request.path.string();
  if (first.empty()) throw RequestError(fmt::format("none of the images of '{}' can be read", place));
  if (!other.empty() && size == 0) size = request.size_if_unequal;
  if (!other.empty() && size == 0)
    throw RequestError(
        fmt::format("the images of '{}' differ in size ({}); set data.size, such as data.size = {}", place,
                    other, std::min(shape.width, shape.height)));

  Survey result{.decoding = {.shape = shape, .resize = size > 0}, .normalization = {}};
  if (size > 0) result.decoding.shape = {shape.channels, size, size};
  Moments moments(shape.channels);
  std::vector<std::uint8_t> pixels(result.decoding.shape.size());
  each_good([&](std::size_t, std::span<const std::uint8_t> bytes) {
    decode_into(bytes, result.decoding, pixels);
    moments.add(pixels);
  });
  result.normalization = moments.normalization();
  return result;
}

}  // namespace veche
