#include "veche/base/files/cut_files.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace veche {
namespace {

// Everything below runs in a signal handler: system calls and the stack only.

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The path in a line of /proc/self/maps ("7f00-7f80 r--p 00000000 fe:00 1234   /data/0.shard") if
// its range contains the address.
std::string_view file_at(std::string_view line, std::uintptr_t address) {
  std::uintptr_t from = 0, to = 0;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, from, 16);
  if (first.ptr == end) return {};
  const auto second = std::from_chars(first.ptr + 1, end, to, 16);
  if (second.ec != std::errc() || address < from || address >= to) return {};
  const std::size_t path = line.find('/');
  return path == std::string_view::npos ? std::string_view() : line.substr(path);
}

void tell_file(std::uintptr_t address) {
  std::array<char, 8192> buffer{};
  std::size_t held = 0;
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return print("a mapped file");
  for (;;) {
    const ssize_t n = read(maps, buffer.data() + held, buffer.size() - held);
    if (n <= 0) return print("a mapped file");
    held += static_cast<std::size_t>(n);
    std::string_view text(buffer.data(), held);
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      if (const std::string_view path = file_at(text.substr(0, end), address); !path.empty()) {
        print("'");
        print(path);
        return print("'");
      }
    std::copy(text.begin(), text.end(), buffer.begin());
    held = text.size();
  }
}

void on_bus_error(int number, siginfo_t* about, void*) {
  if (about->si_code != BUS_ADRERR) {  // not a file error: die of the signal as usual
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  print("veche: ");
  tell_file(reinterpret_cast<std::uintptr_t>(about->si_addr));
  print(" was cut off or lost while it was in use\n");
  _exit(1);
}

}  // namespace

void explain_cut_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace veche
