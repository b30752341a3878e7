#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace veche {

// A file's bytes in place: nothing is read before it is looked at. Touching what somebody has cut off
// meanwhile ends the program (cut_files.h tells why), so whoever reads for long asks each time whether the
// bytes are still there. Any thread may read.
class MappedFile {
 public:
  // Throws RequestError naming the file when it is missing, no file or cannot be read.
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
  // Whether the file still reaches to the end of these bytes, which it contains.
  bool still_has(std::span<const std::uint8_t> part) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;  // null for an empty file, which cannot be mapped
  std::size_t size_ = 0;
};

// Files that lie in memory, for those who keep bytes of several.
using MappedFiles = std::vector<std::shared_ptr<const MappedFile>>;
// The one that contains these bytes; null: none.
const MappedFile* file_of(const MappedFiles& files, std::span<const std::uint8_t> part);

}  // namespace veche
