#include "veche/runtime/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "veche/base/errors.h"

namespace veche {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw RunError(file.string() + " cannot be " + what + ": " + std::generic_category().message(errno));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& file, int flags)
      : file_(file), fd_(::open(file.c_str(), flags, 0644)) {
    if (fd_ < 0) fail(file, "opened");
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail(file_, "written");
      if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void sync() const {
    if (::fsync(fd_) != 0) fail(file_, "synced to the disk");
  }

 private:
  const std::filesystem::path& file_;
  int fd_;
};

}  // namespace

void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts) {
  std::filesystem::path unfinished = file;
  unfinished += ".new";
  {
    const Descriptor out(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    for (const auto& part : parts) out.write(part);
    out.sync();
  }
  rename_durably(unfinished, file);
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(text))};
  write_file(file, parts);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "given its name");
  const std::filesystem::path folder = to.has_parent_path() ? to.parent_path() : std::filesystem::path(".");
  Descriptor(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync();
}

}  // namespace veche
