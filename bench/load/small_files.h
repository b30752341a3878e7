#pragma once

#include <filesystem>

#include "veche/data/source.h"

namespace veche {

// Small JPEG files in ten classes, as CIFAR-10 has them: 32 x 32 pixels, about a kilobyte each; in a folder,
// and packed. They lie in a temporary folder and go with this.
class SmallFiles {
 public:
  explicit SmallFiles(std::size_t train);  // and few for the test set
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles();

  DataSource in_folder, packed;

 private:
  const std::filesystem::path folder_;
};

}  // namespace veche
