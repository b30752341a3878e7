#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace veche {

// MPI reports arrivals only to a thread that polls. A waiter polls without pause for a moment, in
// which most answers come; then yields its core between polls; then sleeps between them, longer
// each time, so that a long wait takes no core. With more ranks than cores, polling without pause
// would keep the awaited rank from running. A poller on behalf of computing nodes sleeps longer
// still, a share of the idle time: each poll's context switch would otherwise take a core from them
// too often.
class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration kLongest = std::chrono::microseconds(500);
  static constexpr Duration kLongestForOthers = std::chrono::milliseconds(4);
  explicit Backoff(bool oversubscribed) : spins_(oversubscribed ? 0 : kSpins) {}

  // The maximum sleep before the next poll; zero: poll at once.
  Duration next(Duration longest = kLongest) {
    ++count_;
    if (count_ <= spins_) return Duration::zero();
    if (count_ <= spins_ + kYields) {
      sched_yield();
      return Duration::zero();
    }
    const Duration backoff = std::min(std::max(length_, slept_ / kShare), longest);
    length_ = std::min(2 * length_, kLongest);
    slept_ += backoff;
    return backoff;
  }

  // Something arrived: more may follow soon.
  void reset() {
    count_ = 0;
    length_ = kShortest;
    slept_ = Duration::zero();
  }

 private:
  static constexpr int kSpins = 400;  // some tens of microseconds
  static constexpr int kYields = 30;
  static constexpr Duration kShortest = std::chrono::microseconds(20);
  static constexpr int kShare = 32;

  const int spins_;
  int count_ = 0;
  Duration length_ = kShortest;
  Duration slept_ = Duration::zero();
};

}  // namespace veche
