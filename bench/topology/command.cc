#include "bench/topology/command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "veche/errors.h"

extern char** environ;

namespace veche {
namespace {

// Binds this thread to one core while it lives; children inherit that.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

// This program as a child process with other arguments, one of its streams readable.
class Child {
 public:
  Child(const std::vector<std::string>& words, int stream) : started_(Clock::now()) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw RunError("no pipe can be made");
    output_ = ends[0];
    std::vector<std::string> kept{"veche"};
    kept.insert(kept.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : kept) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
    posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }
  ~Child() {
    close(output_);
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads what is available, or waits for more; returns false at the end.
  bool read_more(std::string& text) const {
    std::array<char, 65536> buffer{};
    const ssize_t n = process_ < 0 ? 0 : read(output_, buffer.data(), buffer.size());
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
    return n > 0;
  }
  int wait() {
    int status = -1;
    if (process_ >= 0) wait4(process_, &status, 0, &used_);
    process_ = -1;
    return status;
  }
  // Peak memory, after `wait`.
  double peak_mebibytes() const { return static_cast<double>(used_.ru_maxrss) / 1024; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point started_;
  pid_t process_ = -1;
  int output_ = -1;
  rusage used_{};
};

[[noreturn]] void fail(const std::vector<std::string>& words) {
  throw RunError("the command `veche " + words[0] + " ...` failed");
}

}  // namespace

CommandResult run_self(const std::vector<std::string>& words) {
  const OneCore one_core;
  Child child(words, STDOUT_FILENO);
  CommandResult result;
  while (child.read_more(result.output)) {
  }
  if (child.wait() != 0) fail(words);
  result.seconds = child.seconds();
  result.peak_mebibytes = child.peak_mebibytes();
  return result;
}

double seconds_to_line(const std::vector<std::string>& words, const std::string& beginning) {
  Child child(words, STDERR_FILENO);
  std::string text = "\n";
  while (child.read_more(text))
    if (text.find("\n" + beginning) != std::string::npos) return child.seconds();
  fail(words);
}

}  // namespace veche
