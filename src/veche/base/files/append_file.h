#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>

namespace veche {

// A file that grows by records, such as lines, each of which is there whole or not at all. A full disk is no
// error: what cannot be written is kept in memory and goes before the next. One thread at a time; nobody else
// writes to the file.
class AppendFile {
 public:
  // Goes on behind what the file has; makes it if need be. Throws RunError.
  explicit AppendFile(std::filesystem::path file);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // Both tell whether the file now has everything.
  bool append(std::string record);
  bool write_kept();
  // The same, and that the disk has it.
  bool sync();

  const std::filesystem::path& path() const { return file_; }
  // Records that are not in the file: those kept, and those for which there was no more memory.
  std::size_t missing() const { return kept_.size() + dropped_; }
  // Why the last attempt failed: "FILE cannot be written: No space left on device".
  const std::string& why() const { return why_; }

  static constexpr std::size_t kMostKept = std::size_t{64} << 20;  // bytes

 private:
  bool failed(std::string why);

  const std::filesystem::path file_;
  const int descriptor_;
  std::size_t size_ = 0;  // of the whole records in it
  std::deque<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t dropped_ = 0;
  std::string why_;
};

}  // namespace veche
