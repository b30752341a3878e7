#include "veche/data/sets/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "veche/data/formats/make_in_parallel.h"
#include "veche/data/sets/decoded_set.h"
#include "veche/data/sets/moments.h"

namespace veche {
namespace {

struct Look {
  int width = 0, height = 0;
  std::uint64_t bytes = 0;
  std::optional<Moments> moments;
  std::string damage;
};

// Files are decoded at full size; other sets hold pixels.
Look look_at(const PixelSet& set, std::size_t index) {
  thread_local std::vector<std::uint8_t> room;
  thread_local Image image;
  Look look;
  const Shape shape = set.shape();
  look.moments.emplace(shape.channels);
  if (const auto* decoded = dynamic_cast<const DecodedSet*>(&set)) {
    const EncodedSet& files = decoded->files();
    try {
      const auto bytes = files.bytes(index, room);
      look.bytes = bytes.size();
      decode_image(bytes, shape.channels, 0, image);
    } catch (const Damaged& damage) {
      look.damage = fmt::format("'{}' {}", files.name(index), damage.what());
      return look;
    }
    look.width = image.width;
    look.height = image.height;
    look.moments->add(image.pixels);
    return look;
  }
  look.width = shape.width;
  look.height = shape.height;
  look.bytes = shape.size();
  room.resize(shape.size());
  try {
    look.moments->add(set.pixels(index, room));
  } catch (const RunError& damage) {  // thrown by sets of pixels, which have no name to add
    look.damage = damage.what();
  }
  return look;
}

const PixelSet& pixel_set(const Dataset& data) {
  const auto* set = dynamic_cast<const PixelSet*>(&data);
  if (set == nullptr) throw RequestError("only sets of images can be inspected");
  return *set;
}

// Repeats whole pixels, so that small images stay sharp.
void place(const Image& tile, int times, int left, int top, Image& sheet) {
  for (int y = 0; y < tile.height * times; ++y)
    for (int x = 0; x < tile.width * times; ++x)
      for (int c = 0; c < 3; ++c) {
        const int from =
            ((y / times) * tile.width + x / times) * tile.channels + (tile.channels == 3 ? c : 0);
        const int to = ((top + y) * sheet.width + left + x) * 3 + c;
        sheet.pixels[static_cast<std::size_t>(to)] = tile.pixels[static_cast<std::size_t>(from)];
      }
}

}  // namespace

Inspection inspect(const DataSource& source, int threads, const InspectProgress& progress) {
  const PixelSet &train = pixel_set(*source.train), &test = pixel_set(*source.test);
  Inspection result;
  for (int label = 0; label < train.classes(); ++label)
    result.classes.push_back({.name = class_name(source, label)});
  result.channels = train.shape().channels;
  Moments moments(result.channels);
  bool first = true;
  const std::size_t all = train.size() + test.size();
  make_in_parallel(
      all, threads,
      [&](std::size_t i) { return i < train.size() ? look_at(train, i) : look_at(test, i - train.size()); },
      [&](std::size_t i, const Look& look) {
        progress(i, all);
        const bool is_test = i >= train.size();
        if (!look.damage.empty()) {
          ++result.damaged;
          if (result.damage.size() < DamageLog::kKept) result.damage.push_back(look.damage);
          return;
        }
        const std::int64_t label = is_test ? test.label(i - train.size()) : train.label(i);
        Inspection::Class& of = result.classes.at(static_cast<std::size_t>(label));
        ++(is_test ? of.test : of.train);
        if (!is_test) moments.add(*look.moments);
        result.bytes += look.bytes;
        result.least_width = first ? look.width : std::min(result.least_width, look.width);
        result.least_height = first ? look.height : std::min(result.least_height, look.height);
        result.most_width = std::max(result.most_width, look.width);
        result.most_height = std::max(result.most_height, look.height);
        first = false;
      });
  Normalization normalization = moments.normalization();
  result.mean = std::move(normalization.mean);
  result.deviation = std::move(normalization.deviation);
  for (const auto& log : source.damage) {
    result.damaged += log->count();
    for (const std::string& sentence : log->sentences())
      if (result.damage.size() < DamageLog::kKept) result.damage.push_back(sentence);
  }
  return result;
}

Image contact_sheet(const DataSource& source, int rows, int columns) {
  constexpr int kGap = 4, kWanted = 64;
  const PixelSet& set = pixel_set(*source.train);
  const Shape shape = set.shape();
  const int times = std::max(1, kWanted / std::max(shape.width, shape.height));
  const int wide = shape.width * times + kGap, high = shape.height * times + kGap;
  rows = std::min(rows, set.classes());
  Image sheet{.width = columns * wide + kGap, .height = rows * high + kGap, .channels = 3, .pixels = {}};
  sheet.pixels.assign(static_cast<std::size_t>(sheet.width) * static_cast<std::size_t>(sheet.height) * 3,
                      255);
  std::vector<int> placed(static_cast<std::size_t>(rows));
  std::vector<std::uint8_t> room(shape.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    const std::int64_t row = set.label(i);
    if (row >= rows || placed[static_cast<std::size_t>(row)] == columns) continue;
    const auto pixels = set.pixels(i, room);
    const Image tile{.width = shape.width,
                     .height = shape.height,
                     .channels = shape.channels,
                     .pixels = std::vector(pixels.begin(), pixels.end())};
    place(tile, times, kGap + placed[static_cast<std::size_t>(row)]++ * wide,
          kGap + static_cast<int>(row) * high, sheet);
  }
  return sheet;
}

}  // namespace veche
