#pragma once

#include <string>
#include <vector>

namespace veche {

struct CommandResult {
  double seconds = 0;
  double peak_mebibytes = 0;  // of memory
  std::string output;
};

// Runs this program with other arguments on one core, to its end. Throws RunError if it fails.
CommandResult run_self(const std::vector<std::string>& words);
// Runs it on all cores until a line of its standard error begins like this, then ends it. Throws
// RunError if there is no such line.
double seconds_to_line(const std::vector<std::string>& words, const std::string& beginning);

}  // namespace veche
