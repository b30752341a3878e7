#include "veche/data/table/cell_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "veche/errors.h"

namespace veche {
namespace {

[[noreturn]] void fail(const std::string& folder) {
  throw RunError(fmt::format("a large table needs room in {}: {}", folder, std::strerror(errno)));
}

}  // namespace

struct CellStore::File {
  File() : folder(std::filesystem::temp_directory_path().string()) {
    std::string name = folder + "/veche-table-XXXXXX";
    descriptor = ::mkstemp(name.data());
    if (descriptor < 0) fail(folder);
    ::unlink(name.c_str());
  }
  ~File() {
    if (mapped != nullptr) ::munmap(mapped, size);
    ::close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(std::span<const float> cells) {
    const char* from = reinterpret_cast<const char*>(cells.data());
    for (std::size_t left = cells.size_bytes(); left > 0;) {
      const ssize_t done = ::write(descriptor, from, left);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail(folder);
      from += done;
      left -= static_cast<std::size_t>(done);
    }
    size += cells.size_bytes();
  }
  void map() {
    void* const place = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (place == MAP_FAILED) fail(folder);
    mapped = place;
  }

  const std::string folder;
  int descriptor = -1;
  std::size_t size = 0;
  void* mapped = nullptr;
};

CellStore::CellStore() = default;
CellStore::~CellStore() = default;
CellStore::CellStore(CellStore&&) noexcept = default;
CellStore& CellStore::operator=(CellStore&&) noexcept = default;

void CellStore::append(std::span<const float> cells) {
  if (!file_ && sizeof(float) * memory_.size() + cells.size_bytes() > kMostInMemory) spill();
  if (file_)
    file_->write(cells);
  else
    memory_.insert(memory_.end(), cells.begin(), cells.end());
}

void CellStore::spill() {
  file_ = std::make_unique<File>();
  file_->write(memory_);
  memory_ = {};
}

void CellStore::finish() {
  if (file_)
    file_->map();
  else
    memory_.shrink_to_fit();
}

const float* CellStore::data() const {
  return file_ ? static_cast<const float*>(file_->mapped) : memory_.data();
}

}  // namespace veche
