#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

namespace veche {

// A file read from front to back, unpacked on the way when its first bytes say that it is gzip. Throws
// RequestError naming the file when it cannot be opened or its packed data are cut off or damaged. One thread
// at a time.
class PackedFile {
 public:
  explicit PackedFile(std::filesystem::path path);
  ~PackedFile();

  // Fills `out` as far as the file goes; fewer bytes than asked for means that it has ended.
  std::size_t read(std::span<std::uint8_t> out);
  bool packed() const { return inflater_ != nullptr; }
  // More bytes than this cannot come: what to check a promise against before memory is set aside for it.
  std::uint64_t bound() const { return bound_; }

 private:
  struct Inflater;
  std::size_t read_packed(std::span<std::uint8_t> out);

  std::filesystem::path path_;
  std::ifstream file_;
  std::unique_ptr<Inflater> inflater_;  // null when the file is not packed
  std::uint64_t bound_ = 0;
};

}  // namespace veche
