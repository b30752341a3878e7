#pragma once

#include <semaphore>

namespace veche {

// Places to compute in. Any number of nodes may be threads of a process; at most one forward and backward
// pass per place runs at a time, so that many nodes on few cores neither thrash nor hold all their
// activations at once.
class Slots {
 public:
  explicit Slots(int places) : free_(places) {}

  class Turn {
   public:
    explicit Turn(Slots& slots) : slots_(slots) { slots_.free_.acquire(); }
    ~Turn() { slots_.free_.release(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Slots& slots_;
  };

 private:
  std::counting_semaphore<> free_;
};

}  // namespace veche
