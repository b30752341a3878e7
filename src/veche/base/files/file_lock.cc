#include "veche/base/files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "veche/base/files/files.h"

namespace veche {
namespace {

std::string me() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

// Reads the first line.
std::string read_line(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t length = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string all(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return all.substr(0, all.find('\n'));
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file) : descriptor_(open_or_fail(file, O_RDWR | O_CREAT)) {
  int locked = 0;
  do locked = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  while (locked != 0 && errno == EINTR);
  if (locked == 0) {
    const std::string line = me() + "\n";
    // Best effort: if the write fails, other processes do not learn the holder's identity.
    if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
      const ssize_t written = ::pwrite(descriptor_, line.data(), line.size(), 0);
  } else if (errno == EWOULDBLOCK) {
    outcome_ = Outcome::taken;
    why_ = read_line(descriptor_);
  } else {
    outcome_ = Outcome::unsupported;
    why_ = std::generic_category().message(errno);
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace veche
