#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace veche {

// Calls make(0), make(1), ... up to `count` on `threads` threads and use(0, item), use(1, item),
// ... on the calling thread in order, with a bounded number of items ahead. Rethrows an exception
// of make or use after all threads have ended; the one with the smallest index if there are
// several.
template <class Make, class Use>
void make_in_parallel(std::size_t count, int threads, const Make& make, const Use& use) {
  using Thing = decltype(make(std::size_t{}));
  struct Slot {
    std::optional<Thing> thing;
    std::exception_ptr error;
    bool ready = false;
  };
  std::vector<Slot> slots(static_cast<std::size_t>(threads) * 16);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0, used = 0;  // guarded by the mutex
  bool stop = false;               // guarded by the mutex

  const auto work = [&] {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || next >= count || next < used + slots.size(); });
      if (stop || next >= count) return;
      const std::size_t mine = next++;
      lock.unlock();
      Slot made;
      try {
        made.thing.emplace(make(mine));
      } catch (...) {
        made.error = std::current_exception();
      }
      made.ready = true;
      lock.lock();
      slots[mine % slots.size()] = std::move(made);
      changed.notify_all();
    }
  };
  std::vector<std::jthread> workers;
  const auto end_workers = [&] {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    workers.clear();
  };
  try {
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
    for (std::size_t i = 0; i < count; ++i) {
      std::unique_lock lock(mutex);
      Slot& slot = slots[i % slots.size()];
      changed.wait(lock, [&] { return slot.ready; });
      Slot taken = std::move(slot);
      slot = Slot{};
      ++used;
      lock.unlock();
      changed.notify_all();
      if (taken.error) std::rethrow_exception(taken.error);
      use(i, std::move(*taken.thing));
    }
  } catch (...) {
    end_workers();
    throw;
  }
  end_workers();
}

}  // namespace veche
