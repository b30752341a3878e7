#include "cli/process/limits.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string_view>

#include "cli/commands.h"
#include "cli/terminal/output.h"
#include "veche/model/zoo.h"

namespace veche::cli {
namespace {

constexpr std::string_view kNoMemory =
    "out of memory: reduce the number of nodes, the batch, the model's width or the image size, or raise "
    "the limit (ulimit -v)";

[[noreturn]] void refuse(const std::string& sentence) {
  tell_sentence(sentence);
  ::_exit(kWrongRequest);
}

rlim_t limit_of(int resource) {
  rlimit limit{};
  return ::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// Threads of libraries; the program itself has not started any yet.
double threads_at_start() {
  std::error_code error;
  double threads = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error))
    ++threads;
  return std::max(threads, 1.0);
}

// "4", or "4,2" for nested regions.
bool is_thread_count(std::string_view word) {
  constexpr int kMostThreads = 1024;
  for (;;) {
    const std::string_view part = word.substr(0, word.find(','));
    int count = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (error != std::errc() || end != part.data() + part.size() || count < 1 || count > kMostThreads)
      return false;
    if (part.size() == word.size()) return true;
    word.remove_prefix(part.size() + 1);
  }
}

std::terminate_handler before = nullptr;

void at_termination() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    end_for_lack_of_memory();
  } catch (...) {  // a bug of ours, which a core dump explains
  }
  if (before != nullptr) before();
  std::abort();
}

}  // namespace

void check_limits() {
  // Memory of the program with its libraries, and of the buffer that OpenBLAS allocates per thread.
  constexpr double kProgram = 1.2e8, kThread = 1.4e8;
  constexpr rlim_t kFewestFiles = 16;
  if (const rlim_t space = limit_of(RLIMIT_AS); space != RLIM_INFINITY)
    if (const double needed = kProgram + kThread * threads_at_start(); static_cast<double>(space) < needed)
      refuse(fmt::format(
          "this process may use {:.0f} MB of address space (ulimit -v), and {:.0f} MB are the least "
          "for any command, with neural networks {:.0f} MB: raise the limit, as `ulimit -v "
          "unlimited` does",
          static_cast<double>(space) / 1e6, needed / 1e6, (needed + kTorchAddressSpace) / 1e6));
  if (const rlim_t files = limit_of(RLIMIT_NOFILE); files < kFewestFiles)
    refuse(
        fmt::format("this process may have {} files open at a time (ulimit -n), and {} are the least for any "
                    "command: raise the limit, as `ulimit -n 1024` does",
                    files, kFewestFiles));
}

void ignore_bad_thread_counts() {
  for (const char* variable : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    const char* word = std::getenv(variable);
    if (word == nullptr || is_thread_count(word)) continue;
    tell(
        "note: {}={} is ignored, it is no number of threads from 1 to 1024; model.threads says how many "
        "compute\n",
        variable, one_line(word));
    ::unsetenv(variable);
  }
}

void explain_lack_of_memory() {
  // Makes the C library load the unwinder while there is memory for it; otherwise it aborts later.
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  before = std::set_terminate(at_termination);
}

void end_for_lack_of_memory() noexcept {
  tell_text("veche: ");
  tell_text(kNoMemory);
  tell_text("\n");
  ::_exit(kFailed);
}

std::string sentence_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? std::string(kNoMemory) : error.what();
}

}  // namespace veche::cli
