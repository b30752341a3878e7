#pragma once

#include <vector>

#include "bench/bench.h"
#include "veche/comm/mpi/mpi.h"

namespace veche {

// What consensus does every step: vectors exchanged with the neighbours in a ring, a torus (of 2x2x2) and a
// random graph of 4 and 8 ranks of this machine, 1 KB, 64 KB and 6 MB. The engine's way (persistent requests)
// beside plain requests, MPI's neighbourhood collective and Veche's messages. Starts mpirun. Throws RunError
// when what comes is not what was sent.
std::vector<BenchCase> bench_neighbours(const BenchOptions& options);

// The same inside such a job, called by all its ranks; the cases are for the first.
std::vector<BenchCase> measure_neighbours(Job& job, MakeMpiNeighbourhood& make, MpiPlainSum& plain_sum,
                                          const BenchOptions& options);

}  // namespace veche
