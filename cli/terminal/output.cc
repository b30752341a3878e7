#include "cli/terminal/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "cli/commands.h"
#include "veche/base/text/utf8.h"

namespace veche::cli {
namespace {

constexpr std::size_t kGathered = std::size_t{1} << 16;  // what a pipe accepts at once
constexpr std::size_t kLongest = 2000;                   // bytes of a sentence that are still useful
constexpr int kPatience = 1000;                          // milliseconds, for a non-blocking terminal

std::string gathered;  // for standard output
int failure = 0;       // errno of the first failed write

// Returns 0 or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd writable{descriptor, POLLOUT, 0};
      if (::poll(&writable, 1, kPatience) == 0) return EAGAIN;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool is_control(std::string_view sign) {
  const auto first = static_cast<unsigned char>(sign[0]);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<unsigned char>(sign[1]) < 0xa0);
}

}  // namespace

void prepare_output() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // Opens the lowest free descriptor, which is this one. Writing to standard output must still
    // fail.
    const int opened = ::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR);
    if (opened != descriptor) ::_exit(kFailed);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void tell_text(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty() && line.size() < kLongest) {
    const std::size_t length = utf8_length(text);
    const std::string_view sign = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(sign.size());
    if (length > 0 && !is_control(sign)) {
      line += sign;
    } else if (sign == "\n") {
      line += "\\n";
    } else {
      for (const char c : sign) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text.empty() ? line : line + " ...";
}

void tell_sentence(std::string_view sentence) noexcept {
  try {
    tell_text("veche: " + one_line(sentence) + "\n");
  } catch (...) {  // out of memory
    tell_text("veche: ");
    tell_text(sentence);
    tell_text("\n");
  }
}

void answer_text(std::string_view text) {
  gathered += text;
  if (gathered.size() >= kGathered) flush_output();
}

void flush_output() {
  if (failure == 0 && !gathered.empty()) failure = write_all(STDOUT_FILENO, gathered);
  gathered.clear();
}

std::string end_output() {
  const bool wrote = !gathered.empty();
  flush_output();
  // Some file systems report a full disk only on close.
  if (failure == 0 && wrote) {
    const int copy = ::dup(STDOUT_FILENO);
    if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) failure = errno;
  }
  if (failure == 0) return {};
  return "standard output cannot be written: " + std::generic_category().message(failure);
}

}  // namespace veche::cli
