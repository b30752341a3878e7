#pragma once

#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"

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
  struct Shared {
    explicit Shared(std::size_t ahead) : slots(ahead) {}
    Mutex mutex;
    ConditionVariable changed;
    std::vector<Slot> slots VECHE_GUARDED_BY(mutex);
    std::size_t next VECHE_GUARDED_BY(mutex) = 0, used VECHE_GUARDED_BY(mutex) = 0;
    bool stop VECHE_GUARDED_BY(mutex) = false;
  } shared(static_cast<std::size_t>(threads) * 16);

  const auto work = [&] {
    MutexLock lock(shared.mutex);
    for (;;) {
      shared.changed.wait(shared.mutex, [&]() VECHE_REQUIRES(shared.mutex) {
        return shared.stop || shared.next >= count || shared.next < shared.used + shared.slots.size();
      });
      if (shared.stop || shared.next >= count) return;
      const std::size_t mine = shared.next++;
      lock.unlock();
      Slot made;
      try {
        made.thing.emplace(make(mine));
      } catch (...) {
        made.error = std::current_exception();
      }
      made.ready = true;
      lock.lock();
      shared.slots[mine % shared.slots.size()] = std::move(made);
      shared.changed.notify_all();
    }
  };
  std::vector<std::jthread> workers;
  const auto end_workers = [&] {
    {
      const MutexLock lock(shared.mutex);
      shared.stop = true;
    }
    shared.changed.notify_all();
    workers.clear();
  };
  try {
    for (int i = 0; i < threads; ++i) workers.emplace_back(work);
    for (std::size_t i = 0; i < count; ++i) {
      MutexLock lock(shared.mutex);
      Slot& slot = shared.slots[i % shared.slots.size()];
      shared.changed.wait(shared.mutex, [&] { return slot.ready; });
      Slot taken = std::move(slot);
      slot = Slot{};
      ++shared.used;
      lock.unlock();
      shared.changed.notify_all();
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
