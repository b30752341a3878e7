#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "veche/comm/cluster.h"

namespace veche {

class Neighbourhood;  // comm/neighbourhood.h

// Joins the job of the ranks that an MPI launcher started, including this process. The engine is a
// module, one per MPI installed at build time; the launcher determines which one to load. Once per
// process, on the main thread. Throws RequestError if the module is missing or belongs to another
// MPI than the launcher.
enum class MpiKind { open_mpi, mpich };
struct MpiLaunch {
  MpiKind kind = MpiKind::open_mpi;
  int size = 1;  // ranks, according to the launcher
};
std::unique_ptr<Job> join_mpi_job(const MpiLaunch& launch);

// MPI's own blocking in-place sum over all ranks, for comparisons; after joining.
using MpiPlainSum = void(float* data, std::size_t count);
MpiPlainSum* mpi_plain_sum(MpiKind kind);

// Methods to exchange vectors with neighbours, each on its own, for comparisons. Collective, after
// joining. Deadlines are relative to the call; the caller owns the neighbourhood.
enum class MpiWay { persistent, plain, collective };
using MakeMpiNeighbourhood = Neighbourhood*(MpiWay way, std::span<const int> sources,
                                            std::span<const int> readers, std::size_t length);
MakeMpiNeighbourhood* mpi_neighbourhoods(MpiKind kind);

// The symbol exported by such a module, as extern "C". The caller owns the job.
using MakeMpiJob = Job*();
inline constexpr char kMpiJobSymbol[] = "veche_mpi_job";

}  // namespace veche
