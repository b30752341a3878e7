#pragma once

#include <string>
#include <vector>

#include "cli/terminal/progress.h"
#include "veche/config.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {

struct Comparison {
  Config config;                      // what all runs have in common
  std::vector<std::string> variants;  // words for expand_variants
  int repeat = 1;                     // runs of each variant, with successive seeds
  bool json = false;
  bool quiet = false;
  const std::atomic<bool>* interrupted = nullptr;
  Job* job = nullptr;  // whose ranks all make the same comparison; rank 0 writes and prints
};

// Runs the variants one after the other with the same seeds, prints one table, and keeps every run
// and compare.json in one folder under run.out. `view` shows the runs. Returns the exit code. All
// variants are checked before the first one runs.
int compare(const Comparison& comparison, ProgressView& view);

}  // namespace veche::cli
