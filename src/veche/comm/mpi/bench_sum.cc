#include <mpi.h>

#include <cstddef>

#include "veche/base/module_api.h"

// MPI's blocking sum over all ranks as any program would call it, for `veche bench allreduce`.
extern "C" VECHE_MODULE_API void veche_mpi_plain_sum(float* data, std::size_t count) {
  MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
