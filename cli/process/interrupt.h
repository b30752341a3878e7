#pragma once

#include <atomic>

namespace veche::cli {

// While it lives, Ctrl-C (SIGINT), a kill (SIGTERM) and a terminal that is closed (SIGHUP) do not end the
// program but set `asked`, for a command that then ends in order. The same interrupt a second time ends at
// once; only a closed terminal is often told twice, by the shell and by the system, and counts once. SIGHUP
// stays ignored where nohup or the like ignores it. One at a time in a process.
class Interrupts {
 public:
  // `in_job`: also SIGUSR1, which mpirun passes on to all ranks.
  explicit Interrupts(bool in_job = false);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  const std::atomic<bool>& asked() const;

 private:
  const bool in_job_;
};

}  // namespace veche::cli
