#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace veche::cli {

// The arguments of `veche grid start` and `veche grid join`.
struct GridArguments {
  std::string config;      // start
  std::string invitation;  // join
  std::string resume;      // join: the folder to return with
  std::vector<std::string> assignments;
  bool json = false, quiet = false;
  bool force = false;  // resume without a quorum
};

// Trains as a member of a run until the run ends or the user interrupts it. Returns the exit code.
int run_grid_start(const GridArguments& arguments);
int run_grid_join(const GridArguments& arguments);

}  // namespace veche::cli
