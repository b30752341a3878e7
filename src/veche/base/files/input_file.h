#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "veche/errors.h"

namespace veche {

// A regular file, open for reading. Opening neither waits for the writer of a pipe nor reads a device:
// whatever is not a regular file is refused in a sentence. Any thread may read.
class InputFile {
 public:
  // Throws RequestError: "WHAT cannot be read: it is a folder", where `what` is "the configuration my.toml".
  InputFile(const std::filesystem::path& file, std::string what)
      : what_(std::move(what)),
        descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (descriptor_ < 0) refuse(std::generic_category().message(errno));
    struct stat about {};
    const bool known = ::fstat(descriptor_, &about) == 0;
    size_ = static_cast<std::uintmax_t>(about.st_size);
    if (known && S_ISREG(about.st_mode)) return;
    ::close(descriptor_);
    refuse(known && S_ISDIR(about.st_mode) ? "it is a folder" : "it is a device or a pipe, not a file");
  }
  // `what` is the path.
  explicit InputFile(const std::filesystem::path& file) : InputFile(file, file.string()) {}
  ~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Bytes from `offset` on. Returns how many there were: fewer than asked for means that the file ends there.
  // Throws RequestError.
  std::size_t read(std::uintmax_t offset, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t count =
          ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(std::generic_category().message(errno));
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  std::uintmax_t size() const { return size_; }  // when it was opened; 0 for files that the system makes up
  int descriptor() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }  // the caller closes it

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError(what_ + " cannot be read: " + why);
  }

  const std::string what_;
  int descriptor_;
  std::uintmax_t size_ = 0;
};

}  // namespace veche
