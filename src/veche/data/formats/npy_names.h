#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace veche {

// The files of a set saved by NumPy, by the names people give them. No test files: one part is all there is.
struct NpyNames {
  std::string train_images, train_labels, test_images, test_labels;
};
std::optional<NpyNames> find_npy(const std::filesystem::path& folder);

}  // namespace veche
