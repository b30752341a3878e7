#include "veche/comm/mpi/mpi.h"

#include "veche/base/errors.h"
#include "veche/base/module.h"

namespace veche {

std::unique_ptr<Job> join_mpi_job(const MpiLaunch& launch) {
  const bool open_mpi = launch.kind == MpiKind::open_mpi;
  const Module module{open_mpi ? "veche_openmpi.so" : "veche_mpich.so",
                      open_mpi ? "runs under Open MPI" : "runs under MPICH",
                      open_mpi ? "libopenmpi-dev" : "libmpich-dev"};
  std::unique_ptr<Job> job(module_function<MakeMpiJob>(module, kMpiJobSymbol)());
  if (job->size() != launch.size)
    throw RequestError("the launcher started " + std::to_string(launch.size) + " ranks but " +
                       (open_mpi ? "Open MPI" : "MPICH") + " sees " + std::to_string(job->size()) +
                       ": start Veche with the mpirun of the same MPI");
  return job;
}

}  // namespace veche
