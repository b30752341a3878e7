#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace veche {

// Writing that survives a kill or a power cut at any moment. All throw RunError naming the file and the
// reason.

// A new file, written front to back; an old one of the name is overwritten. One thread at a time.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void sync();  // returns when the disk has it all

 private:
  std::filesystem::path file_;
  int descriptor_;
};

// The bytes, synced to the disk, under this name; an old file of the name is there until the new one is
// whole.
void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& file, std::string_view text);

// Renames and makes the new name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
// Makes the names in a folder durable.
void sync_folder(const std::filesystem::path& folder);

}  // namespace veche
