#include "cli/counter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "cli/progress.h"
#include "cli/text.h"
#include "veche/base/errors.h"

namespace veche::cli {
namespace {

constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
constexpr auto kBetweenPlainLines = std::chrono::seconds(10);

std::atomic<bool> interrupted = false;  // the one thing a signal handler can reach

void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);  // a second Ctrl-C ends at once
}

}  // namespace

Counter::Counter(std::string what, std::string unit, bool quiet)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(terminal_ ? Clock::time_point() : start_) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

Counter::~Counter() {
  clear();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void Counter::show(std::uint64_t done, std::uint64_t all) {
  if (interrupted) throw RunError("interrupted while " + what_);
  if (quiet_) return;
  const auto now = Clock::now();
  if (now - last_ < (terminal_ ? Clock::duration(kBetweenDrawings) : Clock::duration(kBetweenPlainLines)))
    return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const bool is_bytes = unit_ == "bytes";
  const auto amount = [&](double count) {
    return is_bytes ? bytes(count) : with_commas(static_cast<std::uint64_t>(count));
  };
  std::string text = fmt::format("{} {}{}  {}{}/s", what_, amount(static_cast<double>(done)),
                                 all == 0 ? "" : " of " + amount(static_cast<double>(all)), amount(rate),
                                 is_bytes ? "" : " " + unit_);
  if (all > 0 && rate > 0) text += fmt::format("  {} left", duration(static_cast<double>(all - done) / rate));
  if (!terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  const double part = all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
  fmt::print(stderr, "\r\033[K{}{}", all == 0 ? "" : bar(part) + " ", text);
  std::fflush(stderr);
  drawn_ = true;
}

void Counter::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace veche::cli
