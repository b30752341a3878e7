#include "veche/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "veche/errors.h"

namespace veche {
MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const auto refuse = [&](const std::string& why) {
    if (descriptor_ >= 0) close(descriptor_);
    throw RequestError("'" + path.string() + "' " + why);
  };
  // A pipe without a writer would wait for one.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0 && errno == ENOENT) refuse("is missing");
  if (descriptor_ < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat about {};
  if (fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) refuse("is not a file");
  size_ = static_cast<std::size_t>(about.st_size);
  if (size_ == 0) return;
  void* place = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (place == MAP_FAILED) refuse(std::string("cannot be mapped: ") + std::strerror(errno));
  data_ = static_cast<const std::byte*>(place);
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
