#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace veche {

// State of a job, shared by the threads of a rank.
struct JobState {
  using Clock = std::chrono::steady_clock;

  // Memory was left to MPI. It is never freed, no rank is waited for at the end, and the job ends
  // by MPI_Abort.
  std::atomic<bool> given_up = false;
  // The rank that cannot continue, until all ranks have agreed on it: waits for messages end.
  std::atomic<int> failed = -1;
  // The deadline of a call that MPI cannot abort; zero: none in progress.
  std::atomic<Clock::rep> call_ends = 0;
};

// MPI may still write to it or read it: it stays allocated until the process ends.
template <class T>
void leave_behind(T&& memory) {
  static_cast<void>(new T(std::forward<T>(memory)));
}

}  // namespace veche
