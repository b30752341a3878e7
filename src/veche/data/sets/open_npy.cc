#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/npy.h"
#include "veche/data/formats/npy_names.h"
#include "veche/data/sets/open.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostNpySide = 1 << 16;
constexpr std::int64_t kMostNpyClasses = 1 << 16;

// (N, H, W), (N, H, W, C) or (N, C, H, W), distinguished by the small number of channels.
struct Layout {
  Shape shape;
  bool planes = false;
};
Layout layout_of(const NpyArray& images, const std::string& name) {
  const auto& s = images.sizes;
  if (images.kind != 'u' || images.item != 1)
    throw RequestError(fmt::format("'{}' must hold bytes (numpy.uint8, 0..255)", name));
  const bool good =
      (s.size() == 3 || s.size() == 4) && *std::max_element(s.begin() + 1, s.end()) <= kMostNpySide;
  const auto is_channels = [](std::uint64_t size) { return size == 1 || size == 3; };
  const auto shape = [](std::uint64_t c, std::uint64_t h, std::uint64_t w) {
    return Shape{static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)};
  };
  if (good && s.size() == 3) return {shape(1, s[1], s[2])};
  if (good && is_channels(s[3])) return {shape(s[3], s[1], s[2])};
  if (good && is_channels(s[1])) return {shape(s[1], s[2], s[3]), true};
  throw RequestError(
      fmt::format("'{}' has the shape ({}); images are (N, H, W), (N, H, W, C) or (N, C, H, W)", name,
                  fmt::join(s, ", ")));
}

Samples read_pair(const fs::path& image_file, const fs::path& label_file, const DamagePolicy& policy) {
  const auto image_bytes = std::make_shared<const MappedFile>(image_file);
  const MappedFile label_bytes(label_file);
  const NpyArray images = parse_npy(image_bytes->octets(), image_file.string());
  const NpyArray labels = parse_npy(label_bytes.octets(), label_file.string());
  const Layout layout = layout_of(images, image_file.string());
  if (labels.kind == 'f' || labels.sizes.empty() || labels.count() != labels.sizes[0])
    throw RequestError(fmt::format("'{}' must hold one whole number a sample", label_file.string()));
  if (labels.count() != images.sizes[0])
    policy.found(fmt::format("'{}' holds {} labels but '{}' holds {} images", label_file.string(),
                             labels.count(), image_file.string(), images.sizes[0]),
                 std::max(labels.count(), images.sizes[0]) - std::min(labels.count(), images.sizes[0]));

  Samples samples{.shape = layout.shape, .planes = layout.planes, .files = {image_bytes}};
  const std::size_t size = layout.shape.size();
  const std::uint64_t count = std::min(labels.count(), images.sizes[0]);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t label = whole_number(labels, i);
    if (label < 0 || label >= kMostNpyClasses) {
      policy.found(
          fmt::format("'{}' gives sample {} the label {}, which cannot be", label_file.string(), i, label));
      continue;
    }
    samples.add(images.bytes.data() + i * size, label);
    samples.classes = std::max(samples.classes, static_cast<int>(label) + 1);
  }
  return samples;
}

}  // namespace

std::optional<NpyNames> find_npy(const fs::path& folder) {
  std::error_code error;
  const NpyNames choices[] = {
      {"train_images.npy", "train_labels.npy", "test_images.npy", "test_labels.npy"},
      {"x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy"},
      {"images.npy", "labels.npy", "", ""},
  };
  for (const NpyNames& names : choices)
    if (fs::exists(folder / names.train_images, error)) return names;
  return std::nullopt;
}

DataSource open_npy(const OpenRequest& request) {
  const auto names = find_npy(request.path);
  if (!names) throw RequestError(fmt::format("'{}' holds no pair of .npy files", request.path.string()));
  Samples train =
      read_pair(request.path / names->train_images, request.path / names->train_labels, request.policy);
  Samples test;
  if (names->test_images.empty()) {
    auto [kept, held_out] = hold_out_tenth(std::move(train));
    train = std::move(kept);
    test = std::move(held_out);
  } else {
    test = read_pair(request.path / names->test_images, request.path / names->test_labels, request.policy);
  }
  test.classes = train.classes = std::max(train.classes, test.classes);
  if (train.classes < 2) throw RequestError(fmt::format("'{}' holds only one class", request.path.string()));
  if (train.labels.empty() || test.labels.empty())
    throw RequestError(fmt::format("'{}' holds no samples", request.path.string()));
  return from_memory(request, "NumPy arrays", std::move(train), std::move(test), {});
}

}  // namespace veche
