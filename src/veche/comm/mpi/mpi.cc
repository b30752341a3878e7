#include "veche/comm/mpi/mpi.h"

#include "veche/base/module/modules.h"
#include "veche/errors.h"

namespace veche {

namespace {

Module module_of(MpiKind kind) { return kind == MpiKind::open_mpi ? modules::kOpenMpi : modules::kMpich; }

}  // namespace

MpiPlainSum* mpi_plain_sum(MpiKind kind) {
  return module_function<MpiPlainSum>(module_of(kind), "veche_mpi_plain_sum");
}

MakeMpiNeighbourhood* mpi_neighbourhoods(MpiKind kind) {
  return module_function<MakeMpiNeighbourhood>(module_of(kind), "veche_mpi_neighbourhood");
}

std::unique_ptr<Job> join_mpi_job(const MpiLaunch& launch) {
  const bool open_mpi = launch.kind == MpiKind::open_mpi;
  std::unique_ptr<Job> job(module_function<MakeMpiJob>(module_of(launch.kind), kMpiJobSymbol)());
  if (job->size() != launch.size)
    throw RequestError("the launcher started " + std::to_string(launch.size) + " ranks but " +
                       (open_mpi ? "Open MPI" : "MPICH") + " sees " + std::to_string(job->size()) +
                       ": start Veche with the mpirun of the same MPI");
  return job;
}

}  // namespace veche
