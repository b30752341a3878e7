#include "veche/base/files/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "veche/base/files/input_file.h"
#include "veche/errors.h"

namespace veche {

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const std::string called = "'" + path.string() + "'";
  std::error_code error;
  if (std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found)
    throw RequestError(called + " is missing");
  InputFile file(path, called);
  size_ = static_cast<std::size_t>(file.size());
  if (size_ > 0) {
    void* place = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (place == MAP_FAILED) throw RequestError(called + " cannot be mapped: " + std::strerror(errno));
    data_ = static_cast<const std::byte*>(place);
  }
  descriptor_ = file.release();
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
  if (descriptor_ >= 0) close(descriptor_);
}

bool MappedFile::contains(std::span<const std::uint8_t> part) const {
  const auto from = reinterpret_cast<std::uintptr_t>(data_), to = from + size_;
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  return begin >= from && begin <= to && part.size() <= to - begin;
}

bool MappedFile::still_has(std::span<const std::uint8_t> part) const {
  const auto end = static_cast<std::size_t>(part.data() + part.size() - octets().data());
  struct stat about {};
  return fstat(descriptor_, &about) == 0 && static_cast<std::size_t>(about.st_size) >= end;
}

const MappedFile* file_of(const MappedFiles& files, std::span<const std::uint8_t> part) {
  const auto found = std::ranges::find_if(files, [&](const auto& file) { return file->contains(part); });
  return found == files.end() ? nullptr : found->get();
}

}  // namespace veche
