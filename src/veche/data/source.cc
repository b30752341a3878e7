#include "veche/data/source.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/data/idx.h"
#include "veche/data/image_set.h"
#include "veche/data/synthetic.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

DataSource made(std::string name, Samples train, Samples test, const Normalization& normalization) {
  return {.name = std::move(name),
          .train = std::make_shared<ImageSet>(std::move(train), normalization),
          .test = std::make_shared<ImageSet>(std::move(test), normalization)};
}

// The four files of MNIST and of the sets made in its image.
struct MnistLike {
  std::string name;
  fs::path folder;  // empty: only data.path can tell
  std::string if_missing;
  Normalization normalization;
};

DataSource open_mnist_like(const Options& options, const MnistLike& set) {
  const std::string path = options.get<std::string>("path", "");
  const fs::path folder = path.empty() ? set.folder : fs::path(path);
  if (folder.empty())
    throw RequestError(fmt::format("data.path is needed for '{}': {}", set.name, set.if_missing));

  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw RequestError(fmt::format("there is no folder '{}': {}", folder.string(), set.if_missing));
  }
  const auto file = [&](const char* name) {
    if (const auto found = find_idx(folder, name)) return *found;
    throw RequestError(
        fmt::format("'{}' is missing, as is '{}.gz': {}", (folder / name).string(), name, set.if_missing));
  };
  // All four are looked for before the first is read, which takes a while.
  const fs::path train_images = file("train-images-idx3-ubyte"),
                 train_labels = file("train-labels-idx1-ubyte");
  const fs::path test_images = file("t10k-images-idx3-ubyte"), test_labels = file("t10k-labels-idx1-ubyte");
  constexpr int kClasses = 10;
  Samples train = read_idx(train_images, train_labels, kClasses);
  Samples test = read_idx(test_images, test_labels, kClasses);
  if (train.shape != test.shape) {
    throw RequestError(fmt::format("in '{}' the training images are {}x{} and the test images {}x{}",
                                   folder.string(), train.shape.height, train.shape.width, test.shape.height,
                                   test.shape.width));
  }
  return made(set.name, std::move(train), std::move(test), set.normalization);
}

DataSource open_fashion_mnist(const Options& options, std::uint64_t) {
  return open_mnist_like(
      options, {.name = "fashion-mnist",
                .folder = "/usr/share/datasets/fashion-mnist",
                .if_missing = "install the Debian package dataset-fashion-mnist (scripts/setup does) "
                              "or set data.path to a folder with the four IDX files",
                .normalization = {.mean = {0.28604}, .deviation = {0.35302}}});
}

DataSource open_mnist(const Options& options, std::uint64_t) {
  return open_mnist_like(options, {.name = "mnist",
                                   .folder = {},
                                   .if_missing = "set data.path to a folder with the four IDX files",
                                   .normalization = {.mean = {0.1307}, .deviation = {0.3081}}});
}

std::int64_t whole(const Options& options, const char* key, std::int64_t otherwise, std::int64_t least) {
  const std::int64_t value = options.get<std::int64_t>(key, otherwise);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value < least || value > kMost) {
    throw RequestError(fmt::format("data.{} is {} and must be in {}..{}", key, value, least, kMost));
  }
  return value;
}

Shape shape_of(const Options& options) {
  const auto sizes = options.get<std::vector<std::int64_t>>("shape", {1, 28, 28});
  constexpr std::int64_t kMost = 1 << 24;
  bool good = sizes.size() == 3;
  for (std::int64_t product = 1; const std::int64_t size : sizes) {
    good = good && size >= 1 && size <= kMost / product;
    if (good) product *= size;
  }
  if (!good) {
    throw RequestError(
        fmt::format("data.shape is [{}] and must be [channels, height, width], each at least 1, "
                    "with at most {} numbers an image",
                    fmt::join(sizes, ", "), kMost));
  }
  return {static_cast<int>(sizes[0]), static_cast<int>(sizes[1]), static_cast<int>(sizes[2])};
}

DataSource open_synthetic(const Options& options, std::uint64_t seed) {
  SyntheticOptions train{.shape = shape_of(options),
                         .samples = static_cast<std::size_t>(whole(options, "samples", 2000, 1)),
                         .classes = static_cast<int>(whole(options, "classes", 10, 2)),
                         .noise = options.get<double>("noise", 1.0)};
  if (!(train.noise >= 0 && train.noise <= 1e6)) {
    throw RequestError(fmt::format("data.noise is {} and must be in 0..1000000", train.noise));
  }
  SyntheticOptions test = train;
  test.samples = static_cast<std::size_t>(whole(options, "test_samples", 500, 1));
  return made("synthetic", make_synthetic(train, "train", seed), make_synthetic(test, "test", seed),
              synthetic_normalization());
}

struct Kind {
  const char* name;
  DataSource (*open)(const Options&, std::uint64_t seed);
};
constexpr Kind kKinds[] = {
    {"fashion-mnist", open_fashion_mnist},
    {"mnist", open_mnist},
    {"synthetic", open_synthetic},
};

}  // namespace

DataSource open_data(const Options& options, std::uint64_t seed) {
  const std::string name = options.get<std::string>("name", "fashion-mnist");
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return kind.open(options, seed);
  }
  throw RequestError(fmt::format("data.name '{}' is unknown{}", name, suggestion(name, data_names())));
}

std::vector<std::string> data_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace veche
