#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

namespace veche {

// A file read sequentially, decompressed if its first bytes say gzip. Throws RequestError naming
// the file if it cannot be opened, or if the compressed data are truncated or damaged. One thread
// at a time.
class PackedFile {
 public:
  explicit PackedFile(std::filesystem::path path);
  ~PackedFile();

  // Fills `out`; returns the number of bytes, less than requested only at the end of the file.
  std::size_t read(std::span<std::uint8_t> out);
  bool packed() const { return inflater_ != nullptr; }
  // Upper bound on the uncompressed size, to check a header against before allocating memory.
  std::uint64_t bound() const { return bound_; }

 private:
  struct Inflater;
  std::size_t read_packed(std::span<std::uint8_t> out);

  std::filesystem::path path_;
  std::ifstream file_;
  std::unique_ptr<Inflater> inflater_;  // null if not compressed
  std::uint64_t bound_ = 0;
};

}  // namespace veche
