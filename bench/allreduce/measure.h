#pragma once

#include <map>
#include <vector>

#include "bench/bench.h"
#include "veche/comm/allreduce/allreduce.h"

namespace veche {

// One all-reduce setting: number of nodes and size of the vectors in bytes.
struct AllReduceSetting {
  std::string name;
  std::size_t bytes = 0;
  int nodes = 0;
};

struct AllReduceFigures {
  AllReduceAlgorithm best = AllReduceAlgorithm::native;
  std::vector<BenchCase> cases;  // `auto` beside the best of the other algorithms, and beside copying
};

// Verifies the result of every algorithm first. Algorithms far behind in the first measurement are
// not measured further. Throws RunError if a sum is wrong.
AllReduceFigures measure_all_reduce(const AllReduceSetting& setting, const BenchOptions& options);

}  // namespace veche
