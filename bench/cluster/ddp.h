#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bench/bench.h"

namespace veche {

// Training under mpirun beside PyTorch's DistributedDataParallel over Gloo, alternating: images per
// second of two single-threaded ranks on this machine. Throws RunError if a side fails or its nodes
// differ.
std::vector<BenchCase> bench_ddp(const BenchOptions& options);

// The peer's side of it alone (ddp.py): what rank 0 prints.
nlohmann::json run_ddp_here(const nlohmann::json& request, const BenchOptions& options);

}  // namespace veche
