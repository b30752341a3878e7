#pragma once

#include <string>
#include <vector>

namespace veche {

struct CommandResult {
  double seconds = 0;
  std::string output;
};

// Runs this very program with other words, on one core, from start to end. Throws RunError when it fails.
CommandResult run_self(const std::vector<std::string>& words);

}  // namespace veche
