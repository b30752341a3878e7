#include "veche/data/sets/host_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <vector>

namespace veche {
namespace {

// Header of the shared memory; guarded by the lock on its file.
struct Head {
  std::uint32_t whole = 0;
  std::uint32_t came = 0;
  std::uint32_t left = 0;
};
constexpr std::size_t kHeadBytes = 1 << 16;  // whole pages of any page size

// A shared-memory file and this process's mapping of it.
class Segment {
 public:
  // Null if unavailable. Otherwise locked: other processes wait until `share`.
  static std::shared_ptr<Segment> open(const std::string& name, std::size_t size) {
    for (;;) {
      const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (descriptor < 0) return nullptr;
      auto segment = std::shared_ptr<Segment>(new Segment(name, descriptor, size));
      if (!segment->lock()) return nullptr;
      if (segment->has_name()) return segment->map() ? segment : nullptr;
      // Earlier processes have unlinked the name: try again with a new file.
    }
  }

  ~Segment() {
    if (data_ != nullptr) ::munmap(data_, size_);
    if (head_ != nullptr && lock()) {
      if (!shared_ || ++head_->left == head_->came) forget();  // failed, or the last process to leave
      ::munmap(head_, kHeadBytes);
    }
    ::close(descriptor_);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  bool whole() const { return head_->whole != 0; }
  std::span<std::uint8_t> bytes() const { return {static_cast<std::uint8_t*>(data_), size_}; }

  void share(int processes) {
    head_->whole = 1;
    shared_ = true;
    if (++head_->came >= static_cast<std::uint32_t>(processes)) forget();
    ::madvise(data_, size_, MADV_DONTNEED);  // keeps the data but drops this process's pages
    ::mprotect(data_, size_, PROT_READ);
    ::flock(descriptor_, LOCK_UN);
  }

 private:
  Segment(std::string name, int descriptor, std::size_t size)
      : name_(std::move(name)), descriptor_(descriptor), size_(size) {}

  bool lock() const { return ::flock(descriptor_, LOCK_EX) == 0; }
  struct stat facts() const {
    struct stat facts {};
    ::fstat(descriptor_, &facts);
    return facts;
  }
  bool has_name() const { return facts().st_nlink > 0; }
  void forget() const {
    if (has_name()) ::unlink(name_.c_str());
  }

  bool map() {
    const std::size_t bytes = kHeadBytes + size_;
    if (facts().st_uid != ::geteuid()) return false;
    // Allocate before writing: otherwise full memory would be a signal instead of an error.
    if (facts().st_size != static_cast<off_t>(bytes) &&
        (::ftruncate(descriptor_, 0) != 0 ||
         ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes)) != 0)) {
      forget();
      return false;
    }
    const auto view = [&](std::size_t from, std::size_t size) {
      void* const data =
          ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(from));
      return data == MAP_FAILED ? nullptr : data;
    };
    head_ = static_cast<Head*>(view(0, kHeadBytes));
    data_ = view(kHeadBytes, size_);
    return head_ != nullptr && data_ != nullptr;
  }

  const std::string name_;
  const int descriptor_;
  const std::size_t size_;
  Head* head_ = nullptr;
  void* data_ = nullptr;
  bool shared_ = false;
};

std::shared_ptr<Segment> segment_for(const std::filesystem::path& file, std::size_t size) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return nullptr;
  return Segment::open(fmt::format("/dev/shm/veche-{}-{:x}-{:x}-{:x}-{:x}-{:x}", ::geteuid(), facts.st_dev,
                                   facts.st_ino, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, size),
                       size);
}

}  // namespace

HostMemory share_on_host(const std::filesystem::path& file, std::size_t size, int processes,
                         const std::function<void(std::span<std::uint8_t>)>& make) {
  if (processes > 1)
    if (const auto segment = segment_for(file, size)) {
      if (!segment->whole()) make(segment->bytes());
      segment->share(processes);
      return {segment->bytes(), segment};
    }
  const auto own = std::make_shared<std::vector<std::uint8_t>>(size);
  make(*own);
  return {*own, own};
}

}  // namespace veche
