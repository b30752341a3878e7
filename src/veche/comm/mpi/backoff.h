#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace veche {

// MPI tells of what arrives only to those who look. Whoever waits looks again at once for a moment, in which
// most answers come; then offers its core to others; then sleeps between looks, longer each time, so that a
// long wait takes no core. Where ranks outnumber cores, looking on would keep the one waited for from
// running.
class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;
  explicit Backoff(bool oversubscribed) : looks_(oversubscribed ? 0 : kLooks) {}

  // How long to sleep before the next look; zero: look at once.
  Duration next() {
    ++count_;
    if (count_ <= looks_) return Duration::zero();
    if (count_ <= looks_ + kYields) {
      sched_yield();
      return Duration::zero();
    }
    const Duration backoff = length_;
    length_ = std::min(2 * length_, kLongest);
    return backoff;
  }

  // Something came: more may follow soon.
  void reset() {
    count_ = 0;
    length_ = kShortest;
  }

 private:
  static constexpr int kLooks = 400;  // some tens of microseconds
  static constexpr int kYields = 30;
  static constexpr Duration kShortest = std::chrono::microseconds(20);
  static constexpr Duration kLongest = std::chrono::microseconds(500);

  const int looks_;
  int count_ = 0;
  Duration length_ = kShortest;
};

}  // namespace veche
