#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace veche::web {

// At most `most` bytes of a file from `at` on. Reads nothing from a pipe or device, which could
// block or never end; empty if the file is gone.
std::string piece_of(const std::filesystem::path& file, std::uintmax_t at, std::size_t most);

// The complete lines appended to a file since the last call. A file that became shorter, or was
// replaced, is read from the start.
class LineReader {
 public:
  explicit LineReader(std::filesystem::path file) : file_(std::move(file)) {}
  // Returns true if it was read from the start, for the first time or again: discard earlier lines.
  bool read(std::vector<std::string>& lines);
  // More data are available: call again.
  bool behind() const { return behind_; }

 private:
  const std::filesystem::path file_;
  bool behind_ = false;
  std::uintmax_t at_ = 0;
  std::string rest_;         // an incomplete line
  std::uint64_t inode_ = 0;  // of the file being read; 0: none
};

}  // namespace veche::web
