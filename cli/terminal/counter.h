#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/process/interrupt.h"
#include "cli/terminal/status_line.h"

namespace veche::cli {

// Shows progress on standard error: an updated line on a terminal, otherwise a plain line at
// intervals. Also handles Ctrl-C: the next `show` throws RunError, so that the operation can be
// undone.
class Counter {
 public:
  // `what` is the activity and `unit` its objects: "packing", "images". `quiet`: shows nothing.
  Counter(std::string what, std::string unit, bool quiet = false);
  ~Counter() { clear(); }

  void show(std::uint64_t done, std::uint64_t all);  // all = 0: unknown
  void clear() { status_.clear(); }                  // removes the line before other output

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_, unit_;
  const bool quiet_;
  const Interrupts interrupts_;
  StatusLine status_;
  Clock::time_point start_, last_;
};

}  // namespace veche::cli
