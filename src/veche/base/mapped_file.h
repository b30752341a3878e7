#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace veche {

// A file's bytes in place: nothing is read before it is looked at. Whoever shortens the file meanwhile ends
// the program, so it is for files that are replaced and never rewritten, or asked each time whether they are
// still whole. Any thread may read.
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
  // Whether the file is still as long as it was.
  bool still_whole() const;

 private:
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;  // null for an empty file, which cannot be mapped
  std::size_t size_ = 0;
};

}  // namespace veche
