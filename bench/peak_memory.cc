#include "bench/peak_memory.h"

#include <fstream>
#include <string>

#include "veche/errors.h"

namespace veche {

void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double peak_memory() {
  constexpr double kKilobytes = 1024;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / kKilobytes;
    }
  throw RunError("bench: the peak of memory cannot be read from /proc/self/status");
}

}  // namespace veche
