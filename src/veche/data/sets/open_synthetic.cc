#include <fmt/format.h>

#include <limits>

#include "veche/base/machine/memory.h"
#include "veche/data/sets/known_sets.h"
#include "veche/data/sets/open.h"
#include "veche/data/sets/synthetic.h"
#include "veche/errors.h"

namespace veche {
namespace {

std::int64_t whole(const char* key, std::int64_t value, std::int64_t least) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value < least || value > kMost) {
    throw RequestError(fmt::format("data.{} is {} and must be in {}..{}", key, value, least, kMost));
  }
  return value;
}

Shape shape_of(std::vector<std::int64_t> sizes) {
  if (sizes.empty()) sizes = {1, 28, 28};
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

}  // namespace

DataSource open_synthetic(const DataSettings& settings, std::uint64_t seed) {
  if (!settings.path.empty())
    throw RequestError(
        "data.path is of a set with files, and data.name = \"synthetic\" has none: keep one of them");
  SyntheticOptions train{
      .shape = shape_of(settings.shape),
      .samples = static_cast<std::size_t>(whole("samples", settings.samples.value_or(2000), 1)),
      .classes = static_cast<int>(whole("classes", settings.classes.value_or(10), 2)),
      .noise = settings.noise.value_or(1.0)};
  if (!(train.noise >= 0 && train.noise <= 1e6)) {
    throw RequestError(fmt::format("data.noise is {} and must be in 0..1000000", train.noise));
  }
  SyntheticOptions test = train;
  test.samples = static_cast<std::size_t>(whole("test_samples", settings.test_samples.value_or(500), 1));
  const double bytes =
      static_cast<double>(train.samples + test.samples) * static_cast<double>(train.shape.size());
  check_memory(bytes, fmt::format("data.name = \"synthetic\" with {} images", train.samples + test.samples),
               "lower data.samples, data.test_samples or data.shape");
  const double classes = 4.0 * train.classes * static_cast<double>(train.shape.size());
  check_memory(classes, fmt::format("data.classes = {}", train.classes), "lower it or data.shape");
  const OpenRequest request{.path = {}, .normalization = synthetic_normalization(), .policy = {}};
  DataSource source = from_memory(request, "made up", make_synthetic(train, "train", seed),
                                  make_synthetic(test, "test", seed), {});
  source.name = "synthetic";
  return source;
}

}  // namespace veche
