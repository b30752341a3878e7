#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace veche {

// Writing that survives a kill or a power cut at any moment. Every function throws RunError with
// the file and the reason.

// A new file, written sequentially. Overwrites an existing file. One thread at a time.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  // For a file that will be renamed: error messages use the name `called`.
  OutputFile(const std::filesystem::path& file, std::filesystem::path called);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void sync();  // returns once the data are on disk

 private:
  const std::filesystem::path called_;
  const int descriptor_;
};

// The path that writing to `file` really writes to: symbolic links are followed and kept. Throws
// RequestError if the target must not be replaced: a folder or a device.
std::filesystem::path place_of(const std::filesystem::path& file);

// Writes the bytes under this name and syncs them. An existing file stays until the new one is
// complete. A failure leaves nothing behind. A kill leaves NAME.new, which the next write
// overwrites.
void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& file, std::string_view text);

// The same inside a folder that becomes visible only when it is synced and renamed. It needs no
// temporary name and no folder sync per file.
void write_file_in_unfinished(const std::filesystem::path& file,
                              std::span<const std::span<const std::byte>> parts);

// Renames and makes the new name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
// Makes the names in a folder durable.
void sync_folder(const std::filesystem::path& folder);
// Creates a folder in an existing one and makes its name durable. Returns whether it is new. Other
// processes may create it at the same time.
bool make_folder_durably(const std::filesystem::path& folder);

// Returns a close-on-exec descriptor; `flags` as for open(2).
int open_or_fail(const std::filesystem::path& file, int flags);

// A failure as a sentence: "FILE cannot be WHAT: REASON".
std::string cannot_be(const std::filesystem::path& file, const char* what, int error);

}  // namespace veche
