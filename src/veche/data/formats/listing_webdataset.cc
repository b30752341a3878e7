#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "veche/data/formats/image/image.h"
#include "veche/data/formats/listing.h"

namespace veche {
namespace {

constexpr std::uint32_t kMostWebdatasetClasses = 1u << 16;

// The path up to the first dot of its last component.
std::string_view key_of(std::string_view path) {
  const auto slash = path.rfind('/');
  const auto dot = path.find('.', slash == path.npos ? 0 : slash);
  return path.substr(0, dot);
}

bool is_label_name(std::string_view path) { return path.ends_with(".cls"); }

std::optional<std::uint32_t> class_number(std::string_view text) {
  const auto trim = [&] {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  };
  trim();
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= kMostWebdatasetClasses)
    return std::nullopt;
  return number;
}

}  // namespace

bool is_webdataset(const Files& files) { return std::ranges::any_of(files.paths, is_label_name); }

Listing list_webdataset(const Files& files, const DamagePolicy& policy) {
  Listing listing;
  std::uint32_t classes = 0;
  const auto complain = [&](std::string_view key, const std::string& why) {
    policy.found(fmt::format("sample '{}' of '{}' {}", key, files.place, why));
  };
  const auto is_test = [](std::string_view path) {  // the name of the shard, the start of the path
    const std::string_view shard = path.substr(0, path.find('/'));
    return shard.find("val") != shard.npos || shard.find("test") != shard.npos;
  };

  for (std::size_t begin = 0, end = 0; begin < files.paths.size(); begin = end) {
    const std::string_view key = key_of(files.paths[begin]);
    std::optional<std::uint32_t> image, answer;
    std::string_view unread;
    for (end = begin; end < files.paths.size() && key_of(files.paths[end]) == key; ++end) {
      if (is_image_name(files.paths[end])) image = static_cast<std::uint32_t>(end);
      if (const auto format = unread_format_of_name(files.paths[end]); !format.empty()) unread = format;
      if (is_label_name(files.paths[end])) answer = static_cast<std::uint32_t>(end);
    }
    if (!image && !answer) continue;  // captions and the like
    if (!image && !unread.empty()) {
      complain(key, fmt::format("is a {} picture, a format that is not read: {}", unread, kConvert));
      continue;
    }
    if (!image || !answer) {
      complain(key, image ? "has no .cls beside its image" : "has a .cls but no image");
      continue;
    }
    const auto number = class_number(files.text(*answer));
    if (!number) {
      complain(key, "has a .cls that is not the number of a class");
      continue;
    }
    classes = std::max(classes, *number + 1);
    (is_test(files.paths[begin]) ? listing.test : listing.train).push_back({*image, *number});
  }
  if (listing.train.empty()) throw RequestError(fmt::format("'{}' holds no training samples", files.place));
  if (classes < 2) throw RequestError(fmt::format("'{}' holds only one class", files.place));

  std::vector<bool> seen(classes);
  for (const Listing::Item item : listing.train) seen[item.label] = true;
  for (std::uint32_t label = 0; label < classes; ++label) {
    listing.classes.push_back(std::to_string(label));
    if (!seen[label]) policy.found(fmt::format("class {} of '{}' has no images", label, files.place), 0);
  }
  if (listing.test.empty()) hold_out_tenth(listing);
  return listing;
}

}  // namespace veche
