#pragma once

#include <vector>

#include "bench/bench.h"
#include "veche/comm/mpi/mpi.h"

namespace veche {

// The exchange of consensus in every step: vectors exchanged with the neighbours in a ring, a torus
// (2x2x2) and a random graph of 4 and 8 ranks of this machine, 1 KB, 64 KB and 6 MB. The engine's
// method (persistent requests) beside plain requests, MPI's neighbourhood collective and Veche's
// messages. Starts mpirun. Throws RunError if received data differ from the sent data.
std::vector<BenchCase> bench_neighbours(const BenchOptions& options);

// The same inside such a job, called by all its ranks; rank 0 gets the cases.
std::vector<BenchCase> measure_neighbours(Job& job, MakeMpiNeighbourhood& make, MpiPlainSum& plain_sum,
                                          const BenchOptions& options);

}  // namespace veche
