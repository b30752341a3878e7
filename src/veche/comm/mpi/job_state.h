#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace veche {

// How a job stands: what the threads of a rank tell each other.
struct JobState {
  using Clock = std::chrono::steady_clock;

  // Something was left behind inside MPI. What MPI may still write to is never freed, nobody is waited for at
  // the end, and the job ends by MPI_Abort.
  std::atomic<bool> given_up = false;
  // The rank that cannot go on, as long as not all ranks have agreed on it: whoever waits for messages ends.
  std::atomic<int> failed = -1;
  // When a call that MPI cannot be taken back from should have ended; zero: none is under way.
  std::atomic<Clock::rep> call_ends = 0;
};

// MPI may still write to it, or read it: it stays where it is until the process ends.
template <class T>
void leave_behind(T&& memory) {
  static_cast<void>(new T(std::forward<T>(memory)));
}

}  // namespace veche
