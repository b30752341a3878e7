#include "bench/watch/thread_seconds.h"

#include <filesystem>
#include <fstream>

#include "veche/errors.h"

namespace veche {

std::map<int, double> thread_seconds() {
  std::map<int, double> seconds;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    double nanoseconds = 0;
    if (std::ifstream(task.path() / "schedstat") >> nanoseconds)  // otherwise the thread has just ended
      seconds[std::stoi(task.path().filename().string())] = 1e-9 * nanoseconds;
  }
  if (seconds.empty()) throw RunError("the system does not tell what a thread has used of its processors");
  return seconds;
}

}  // namespace veche
