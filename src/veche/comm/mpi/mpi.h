#pragma once

#include <cstddef>
#include <memory>

#include "veche/comm/cluster.h"

namespace veche {

// Joins the ranks that an MPI launcher started together with this process. The engine is a module, one for
// each MPI that was installed when Veche was built; the launcher tells which one to load. Once per process,
// by the main thread. Throws RequestError when the module is missing or belongs to another MPI than the
// launcher.
enum class MpiKind { open_mpi, mpich };
struct MpiLaunch {
  MpiKind kind = MpiKind::open_mpi;
  int size = 1;  // ranks, as the launcher says
};
std::unique_ptr<Job> join_mpi_job(const MpiLaunch& launch);

// MPI's own blocking sum over all ranks, in place, for comparisons; after joining.
using MpiPlainSum = void(float* data, std::size_t count);
MpiPlainSum* mpi_plain_sum(MpiKind kind);

// The symbol that such a module exports, as extern "C"; the caller owns the job.
using MakeMpiJob = Job*();
inline constexpr char kMpiJobSymbol[] = "veche_mpi_job";

}  // namespace veche
