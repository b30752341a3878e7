#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace veche {

// The files of a NumPy set under their usual names. Empty test files: the set has one part.
struct NpyNames {
  std::string train_images, train_labels, test_images, test_labels;
};
std::optional<NpyNames> find_npy(const std::filesystem::path& folder);

}  // namespace veche
