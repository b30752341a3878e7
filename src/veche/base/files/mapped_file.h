#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace veche {

// A file mapped into memory; bytes are read on first access. Accessing bytes that were truncated
// meanwhile ends the program (see cut_files.h), so a long-running reader checks still_has before
// each access. Any thread may read.
class MappedFile {
 public:
  // Throws RequestError naming the file if it is missing, not a regular file or unreadable.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::span<const std::uint8_t> octets() const {
    return {reinterpret_cast<const std::uint8_t*>(data_), size_};
  }
  const std::filesystem::path& path() const { return path_; }
  bool contains(std::span<const std::uint8_t> part) const;
  // Whether the file is still long enough to contain this part of the mapping.
  bool still_has(std::span<const std::uint8_t> part) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;  // null for an empty file, which cannot be mapped
  std::size_t size_ = 0;
};

// Mapped files, for owners of bytes from several files.
using MappedFiles = std::vector<std::shared_ptr<const MappedFile>>;
// The file that contains these bytes, or null.
const MappedFile* file_of(const MappedFiles& files, std::span<const std::uint8_t> part);

}  // namespace veche
