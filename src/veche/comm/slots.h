#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "veche/base/module/module_api.h"

namespace veche {

// Slots to compute in. Any number of nodes may be threads of a process; at most one forward and backward
// pass per slot runs at a time, so that many nodes on few cores neither thrash nor hold all their
// activations at once. Of those who wait, the one furthest behind goes first, because others wait for it;
// then the one who came first.
//
// Who must wait for others inside a turn goes away meanwhile, and somebody else has the slot.
//
// A slot stays on its core. Left alone, Linux often wakes the next node on the core of another slot: there
// two then share a core for many milliseconds, while the one that became free idles.
class VECHE_MODULE_API Slots {
 public:
  // 0: as many as this process may use cores, where it shares them with so many others like it.
  explicit Slots(int slots, int processes = 1);
  std::size_t count() const { return slots_.size(); }
  std::size_t waiting() const;  // how many, now

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

  // Gives back the slot of the calling thread, if it has one, for as long as this lives.
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
    int core = -1;  // where its last turn ran, or runs; negative: not known
  };
  struct Waiter;

  std::size_t take(std::uint64_t step);
  std::size_t take_free(int core);
  bool computes_on(int core) const;
  void give(std::size_t slot);

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;                                             // guarded by mutex_
  std::uint64_t tickets_ = 0;                                           // guarded by mutex_
  std::map<std::pair<std::uint64_t, std::uint64_t>, Waiter*> waiting_;  // (step, ticket); guarded by mutex_
};

}  // namespace veche
