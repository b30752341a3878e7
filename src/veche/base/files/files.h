#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace veche {

// Writing that survives a kill or a power cut at any moment. All throw RunError naming the file and the
// reason.

// A new file, written front to back; an old one of the name is overwritten. One thread at a time.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  // One that will get another name, by which errors call it.
  OutputFile(const std::filesystem::path& file, std::filesystem::path called);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void sync();  // returns when the disk has it all

 private:
  const std::filesystem::path called_;
  const int descriptor_;
};

// Where a file of this name is written: links are followed and stay. Throws RequestError when there is
// something that is not to be replaced: a folder, a device.
std::filesystem::path place_of(const std::filesystem::path& file);

// The bytes, synced to the disk, under this name; an old file of the name is there until the new one is
// whole. What fails leaves nothing behind; what is killed leaves NAME.new, which the next one overwrites.
void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& file, std::string_view text);

// The same in a folder that nobody looks into before it is synced and renamed, where a file needs no name
// besides its own, and the folder no sync for each of a thousand files.
void write_file_in_unfinished(const std::filesystem::path& file,
                              std::span<const std::span<const std::byte>> parts);

// Renames and makes the new name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
// Makes the names in a folder durable.
void sync_folder(const std::filesystem::path& folder);
// Makes a folder in one that exists, and its name durable. Tells whether it is new; others may make it at the
// same time.
bool make_folder_durably(const std::filesystem::path& folder);

// A descriptor, closed on exec; `flags` as for open(2).
int open_or_fail(const std::filesystem::path& file, int flags);

// The sentence of a failure: "FILE cannot be WHAT: REASON".
std::string cannot_be(const std::filesystem::path& file, const char* what, int error);

}  // namespace veche
