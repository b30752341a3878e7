#pragma once

#include <filesystem>

#include "bench/bench.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/source.h"

namespace veche {

DataSource open_path(const std::filesystem::path& path);
const PixelSet& images_of(const Dataset& set);

// The images of options.data as JPEG files in a folder, packed as they are, and packed decoded.
// Without a set: 60,000 synthetic images of CIFAR-10's shape. They are in a temporary folder that
// the destructor deletes.
class SmallFiles {
 public:
  // Throws RequestError if the set is not an image set.
  explicit SmallFiles(const BenchOptions& options);
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles();

  std::string what;  // "cifar10"
  DataSource in_folder, packed, decoded;

 private:
  void write_all_of(const DataSource& given, bool quick);
  void write_made_up(std::size_t train, std::size_t test);
  void write_file(const std::filesystem::path& name, std::span<const std::uint8_t> bytes) const;

  const std::filesystem::path folder_;
};

}  // namespace veche
