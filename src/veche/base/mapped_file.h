#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace veche {

// A file's bytes in place: nothing is read before it is looked at. Whoever shortens the file meanwhile ends
// the program, so it is for files that are replaced and never rewritten.
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

 private:
  const std::byte* data_ = nullptr;  // null for an empty file, which cannot be mapped
  std::size_t size_ = 0;
};

}  // namespace veche
