#include "veche/base/machine/machine.h"

#include <fstream>

namespace veche {

std::string processor_name() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

std::string version() { return VECHE_VERSION; }
std::string commit() { return VECHE_COMMIT; }

}  // namespace veche
