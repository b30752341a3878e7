#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/process/interrupt.h"
#include "cli/terminal/status_line.h"

namespace veche::cli {

// Shows on standard error how far something has come: a line that is drawn anew on a terminal, a plain line
// now and then elsewhere. Also where Ctrl-C is noticed: it makes the next `show` throw RunError, so that what
// is under way can be undone.
class Counter {
 public:
  // `what` is being done to things called `unit`: "packing", "images". `quiet`: show nothing.
  Counter(std::string what, std::string unit, bool quiet = false);
  ~Counter() { clear(); }

  void show(std::uint64_t done, std::uint64_t all);  // all = 0: nobody knows
  void clear() { status_.clear(); }                  // the line, before other words

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_, unit_;
  const bool quiet_;
  const Interrupts interrupts_;
  StatusLine status_;
  Clock::time_point start_, last_;
};

}  // namespace veche::cli
