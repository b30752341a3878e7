#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

namespace veche {

// Places to compute in. Any number of nodes may be threads of a process; at most one forward and backward
// pass per place runs at a time, so that many nodes on few cores neither thrash nor hold all their
// activations at once. Of those who wait, the one furthest behind goes first, because others wait for it;
// then the one who came first.
class Slots {
 public:
  explicit Slots(int places) : free_(places) {}

  class Turn {
   public:
    Turn(Slots& slots, std::uint64_t step) : slots_(slots) { slots_.take(step); }
    ~Turn() { slots_.give(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Slots& slots_;
  };

 private:
  void take(std::uint64_t step) {
    std::unique_lock lock(mutex_);
    const auto ticket = waiting_.emplace(step, tickets_++).first;
    changed_.wait(lock, [&] { return free_ > 0 && ticket == waiting_.begin(); });
    waiting_.erase(ticket);
    --free_;
    if (free_ > 0) changed_.notify_all();
  }

  void give() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;                                                   // guarded by mutex_
  std::uint64_t tickets_ = 0;                                  // guarded by mutex_
  std::set<std::pair<std::uint64_t, std::uint64_t>> waiting_;  // (step, ticket); guarded by mutex_
};

}  // namespace veche
