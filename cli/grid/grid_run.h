#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace veche::cli {

// What `veche grid start` and `veche grid join` were asked.
struct GridArguments {
  std::string config;      // start
  std::string invitation;  // join
  std::string resume;      // join: a folder to come back with
  std::vector<std::string> assignments;
  bool json = false, quiet = false;
  bool force = false;  // resume without a quorum
};

// Trains as a member of a run until it has ended, or somebody wants to leave. Returns the exit code.
int run_grid_start(const GridArguments& arguments);
int run_grid_join(const GridArguments& arguments);

}  // namespace veche::cli
