#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "veche/base/module_api.h"
#include "veche/base/thread/mutex.h"

namespace veche {

// Limits how many nodes of a process compute at the same time. A process may run many nodes as
// threads, but each slot runs one forward and backward pass at a time. Then many nodes on few cores
// neither thrash nor hold all their activations at once. Of the waiting nodes the one with the
// lowest step goes first, because others wait for it; at equal steps, the one that came first.
//
// A node that waits for messages during its turn gives its slot back for that time.
//
// A slot stays on its core. Otherwise Linux often wakes the next node on the core of another slot:
// two nodes then share a core for many milliseconds while the freed core idles.
class VECHE_MODULE_API Slots {
 public:
  // 0: one slot per core that this process may use, divided by the number of `processes` that share
  // them.
  explicit Slots(int slots, int processes = 1);
  // Not checked: the number is fixed once made.
  std::size_t count() const VECHE_NOT_CHECKED { return slots_.size(); }
  std::size_t waiting() const;  // threads that wait for a slot now

  class Away;
  class Turn {
   public:
    Turn(Slots& slots, std::uint64_t step);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    friend class Away;
    Slots& slots_;
    const std::uint64_t step_;
    std::size_t slot_;
  };

  // Gives back the slot of the calling thread, if it has one, during the lifetime of this object.
  class Away {
   public:
    Away();
    ~Away();
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    Turn* const turn_;
  };

 private:
  struct Slot {
    bool busy = false;
    int core = -1;  // of its current or last turn; negative: unknown
  };
  struct Waiter;

  std::size_t take(std::uint64_t step);
  std::size_t take_free(int core) VECHE_REQUIRES(mutex_);
  bool computes_on(int core) const VECHE_REQUIRES(mutex_);
  void give(std::size_t slot);

  mutable Mutex mutex_;
  std::vector<Slot> slots_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t tickets_ VECHE_GUARDED_BY(mutex_) = 0;
  // By step and ticket.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Waiter*> waiting_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche
