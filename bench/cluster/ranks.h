#pragma once

#include <vector>

#include "bench/bench.h"
#include "veche/comm/mpi/mpi.h"

namespace veche {

// All-reduce between 2, 4 and 8 ranks of this machine, 1 KB to 64 MB: `auto` beside MPI_Allreduce called as
// any program would. Starts mpirun. Throws RunError when a sum or the bytes that a rank sends are wrong.
std::vector<BenchCase> bench_allreduce_mpi(const BenchOptions& options);

// The same inside such a job, called by all its ranks; the cases are for the first.
std::vector<BenchCase> measure_ranks(Job& job, MpiPlainSum& plain_sum, const BenchOptions& options);

}  // namespace veche
