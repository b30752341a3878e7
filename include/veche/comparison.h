#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/export.h"

namespace veche {

// One run of a comparison, for the program to make. Its Config holds a seed, a name and the folder
// of the comparison.
struct PlannedRun {
  std::string variant;  // "local-sgd:8 ring"
  std::int64_t seed = 1;
  Config config;
  // The run's time is virtual. A process has one virtual clock, which starts only once, so each
  // such run needs a process of its own.
  bool needs_process = false;
};

// `veche train --compare`: calls `run` for every variant, `repeat` times with consecutive seeds,
// and writes compare.json beside the runs. `run` makes the run and returns its summary_json; its
// exceptions end the comparison. Returns the JSON object of compare.json; empty on other ranks than
// rank 0 of a job.
//
// `words` are such as "strategy=allreduce,local-sgd:8", "compress=none,fp16" or
// "section.key=a,b"; every combination is a variant. A wrong variant throws
// RequestError before the first run.
VECHE_API std::string compare_runs(const Config& common, const std::vector<std::string>& words, int repeat,
                                   const std::function<std::string(const PlannedRun& run)>& run);

}  // namespace veche
