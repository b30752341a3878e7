#pragma once

#include <vector>

#include "bench/bench.h"
#include "veche/comm/mpi/mpi.h"

namespace veche {

// All-reduce between 2, 4 and 8 ranks of this machine, 1 KB to 64 MB: `auto` beside MPI_Allreduce
// as any program would call it. Starts mpirun. Throws RunError if a sum or the number of bytes sent
// is wrong.
std::vector<BenchCase> bench_allreduce_mpi(const BenchOptions& options);

// The same inside such a job, called by all its ranks; rank 0 gets the cases.
std::vector<BenchCase> measure_ranks(Job& job, MpiPlainSum& plain_sum, const BenchOptions& options);

}  // namespace veche
