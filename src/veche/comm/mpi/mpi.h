#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "veche/comm/cluster.h"

namespace veche {

class Neighbourhood;  // comm/neighbourhood.h

// Joins the job of the ranks that an MPI launcher started, this process among them. The engine is a module,
// one for each MPI that was installed when Veche was built; the launcher tells which one to load. Once per
// process, by the main thread. Throws RequestError when the module is missing or belongs to another MPI than
// the launcher.
enum class MpiKind { open_mpi, mpich };
struct MpiLaunch {
  MpiKind kind = MpiKind::open_mpi;
  int size = 1;  // ranks, as the launcher says
};
std::unique_ptr<Job> join_mpi_job(const MpiLaunch& launch);

// MPI's own blocking sum over all ranks, in place, for comparisons; after joining.
using MpiPlainSum = void(float* data, std::size_t count);
MpiPlainSum* mpi_plain_sum(MpiKind kind);

// The ways in which ranks can exchange vectors with their neighbours, each on its own, for comparisons.
// Collective, after joining. Deadlines are told from the call on; the caller owns the neighbourhood.
enum class MpiWay { persistent, plain, collective };
using MakeMpiNeighbourhood = Neighbourhood*(MpiWay way, std::span<const int> sources,
                                            std::span<const int> readers, std::size_t length);
MakeMpiNeighbourhood* mpi_neighbourhoods(MpiKind kind);

// The symbol that such a module exports, as extern "C"; the caller owns the job.
using MakeMpiJob = Job*();
inline constexpr char kMpiJobSymbol[] = "veche_mpi_job";

}  // namespace veche
