#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>

namespace veche {

// A file that grows by whole records, such as lines: a record is either complete or absent. A full
// disk is not an error: unwritten records stay in memory and are written before the next one. Used
// by one thread at a time; no other process may write to the file.
class AppendFile {
 public:
  // Appends to an existing file or creates it. Throws RunError.
  explicit AppendFile(std::filesystem::path file);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // Both return whether the file now contains every record.
  bool append(std::string record);
  bool write_kept();
  // Writes pending records and syncs the file to disk.
  bool sync();

  const std::filesystem::path& path() const { return file_; }
  // Records missing from the file: those kept in memory and those dropped for lack of memory.
  std::size_t missing() const { return kept_.size() + dropped_; }
  // Why the last attempt failed: "FILE cannot be written: No space left on device".
  const std::string& why() const { return why_; }

  static constexpr std::size_t kMostKept = std::size_t{64} << 20;  // bytes

 private:
  bool failed(std::string why);

  const std::filesystem::path file_;
  const int descriptor_;
  std::size_t size_ = 0;  // bytes of complete records in the file
  std::deque<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t dropped_ = 0;
  std::string why_;
};

}  // namespace veche
