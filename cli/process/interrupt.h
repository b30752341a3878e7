#pragma once

#include <atomic>

namespace veche::cli {

// While it lives, Ctrl-C (SIGINT), a kill (SIGTERM) and a closed terminal (SIGHUP) set `asked`
// instead of ending the program, so that a command can end in order. A second interrupt of the same
// kind ends the program at once, except SIGHUP, which shell and system often both send; it counts
// once. SIGHUP stays ignored if nohup or the like ignores it. One per process.
class Interrupts {
 public:
  // `in_job`: also handles SIGUSR1, which mpirun forwards to all ranks.
  explicit Interrupts(bool in_job = false);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  const std::atomic<bool>& asked() const;

 private:
  const bool in_job_;
};

}  // namespace veche::cli
