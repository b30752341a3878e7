#pragma once

#include <string>
#include <vector>

#include "cli/terminal/progress.h"
#include "veche/config.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {

struct Comparison {
  Config config;  // what all runs have in common
  std::vector<std::string>
      variants;    // "strategy=allreduce,local-sgd:8" or "section.key=value,value"; several: all combinations
  int repeat = 1;  // runs of each, with the seeds that follow
  bool json = false;
  bool quiet = false;
  const std::atomic<bool>* interrupted = nullptr;
  Job* job = nullptr;  // of ranks that all compare the same; the first writes and prints
};

// Runs them in turn with the same seeds, prints one table, and keeps every run and compare.json in one folder
// under run.out. `view` shows the runs. Returns the exit code. All variants are checked before the first one
// runs.
int compare(const Comparison& comparison, ProgressView& view);

}  // namespace veche::cli
