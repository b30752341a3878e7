#include "veche/base/read_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "veche/errors.h"

namespace veche {
namespace {

class Opened {
 public:
  Opened(const std::filesystem::path& file, const std::string& what)
      : what_(what), descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (descriptor_ < 0) refuse(std::generic_category().message(errno));
    struct stat about {};
    const bool known = ::fstat(descriptor_, &about) == 0;
    size_ = static_cast<std::uintmax_t>(about.st_size);
    if (known && S_ISREG(about.st_mode)) return;
    ::close(descriptor_);
    refuse(known && S_ISDIR(about.st_mode) ? "it is a folder" : "it is a device or a pipe, not a file");
  }
  ~Opened() { ::close(descriptor_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // To the end, whatever size the system tells: files that it makes up have none.
  std::string read(std::uintmax_t most) const {
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    std::string text;
    if (size_ > most) refuse("it has more than " + std::to_string(most) + " bytes");
    for (;;) {
      const std::size_t before = text.size();
      text.resize(before + kPiece);
      const ssize_t count = ::read(descriptor_, text.data() + before, kPiece);
      if (count < 0 && errno != EINTR) refuse(std::generic_category().message(errno));
      text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (text.size() > most) refuse("it has more than " + std::to_string(most) + " bytes");
      if (count == 0) return text;
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError(what_ + " cannot be read: " + why);
  }

  const std::string& what_;
  const int descriptor_;
  std::uintmax_t size_ = 0;
};

}  // namespace

std::string read_text(const std::filesystem::path& file, const std::string& what, std::uintmax_t most) {
  return Opened(file, what).read(most);
}

void check_regular(const std::filesystem::path& file, const std::string& what) {
  const Opened opened(file, what);
}

}  // namespace veche
