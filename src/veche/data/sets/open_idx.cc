#include <fmt/format.h>

#include <algorithm>

#include "veche/data/formats/idx.h"
#include "veche/data/sets/open.h"
#include "veche/errors.h"

namespace veche {

namespace fs = std::filesystem;

// The four files of MNIST and sets in its format.
DataSource open_idx(const OpenRequest& request) {
  const auto file = [&](const char* name) {
    if (const auto found = find_idx(request.path, name)) return *found;
    throw RequestError(fmt::format("'{}' is missing, as is '{}.gz'", (request.path / name).string(), name));
  };
  // Finds all four files before reading the first, which takes a while.
  const fs::path train_images = file("train-images-idx3-ubyte"),
                 train_labels = file("train-labels-idx1-ubyte");
  const fs::path test_images = file("t10k-images-idx3-ubyte"), test_labels = file("t10k-labels-idx1-ubyte");
  constexpr int kAny = 256;
  const int most = request.classes > 0 ? request.classes : kAny;
  Samples train = read_idx(train_images, train_labels, most, request.policy, request.processes);
  Samples test = read_idx(test_images, test_labels, most, request.policy, request.processes);
  if (request.classes == 0 && !train.labels.empty()) {
    train.classes = test.classes = static_cast<int>(*std::ranges::max_element(train.labels)) + 1;
    if (!test.labels.empty() && *std::ranges::max_element(test.labels) >= train.classes)
      throw RequestError(
          fmt::format("'{}' holds a label that '{}' does not", test_labels.string(), train_labels.string()));
  }
  return from_memory(request, "IDX files", std::move(train), std::move(test), {});
}

}  // namespace veche
