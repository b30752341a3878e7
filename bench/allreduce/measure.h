#pragma once

#include <map>
#include <vector>

#include "bench/bench.h"
#include "veche/comm/allreduce/allreduce.h"

namespace veche {

// What all-reduce of one size among so many nodes costs, in vectors of so many bytes.
struct AllReduceSetting {
  std::string name;
  std::size_t bytes = 0;
  int nodes = 0;
};

struct AllReduceFigures {
  AllReduceAlgorithm best = AllReduceAlgorithm::native;
  std::vector<BenchCase> cases;  // `auto` beside the best of those that it did not choose, and beside copying
};

// Every algorithm's result is verified first; those far from the best at first sight are then not measured
// further. Throws RunError when a sum is wrong.
AllReduceFigures measure_all_reduce(const AllReduceSetting& setting, const BenchOptions& options);

}  // namespace veche
