#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace veche {

// Sleeps until the next event or a deadline, like std::atomic::wait with a deadline. Unlike a
// condition variable it has no mutex that woken threads queue for. May be in memory shared by
// processes, all zero at first. To wait: make a Waiter, check again that there is nothing to do,
// sleep. An event after the waiter was made ends the sleep.
class EventCount {
 public:
  class Waiter {
   public:
    explicit Waiter(EventCount& events) : events_(events) {
      events_.sleepers_.fetch_add(1);
      seen_ = events_.count_.load();
    }
    ~Waiter() { events_.sleepers_.fetch_sub(1); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void sleep(std::chrono::steady_clock::time_point deadline) {
      using namespace std::chrono;
      const auto since = std::max(deadline.time_since_epoch(), steady_clock::duration::zero());
      const timespec until{duration_cast<seconds>(since).count(), (since % seconds(1)).count()};
      events_.futex(FUTEX_WAIT_BITSET, seen_, &until);
    }

   private:
    EventCount& events_;
    std::uint32_t seen_;
  };

  void notify_all() { notify(INT_MAX); }
  // Wakes at most this many sleeping threads.
  void notify(int most) {
    count_.fetch_add(1);
    if (sleepers_.load() > 0) futex(FUTEX_WAKE, static_cast<std::uint32_t>(most), nullptr);
  }

 private:
  void futex(int operation, std::uint32_t value, const timespec* until) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&count_), operation, value, until, nullptr,
            FUTEX_BITSET_MATCH_ANY);
  }

  std::atomic<std::uint32_t> count_;
  std::atomic<int> sleepers_;
};
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace veche
