#include <unistd.h>

#include "veche/base/module_api.h"
#include "veche/comm/mpi/mpi.h"
#include "veche/comm/mpi/neighbours.h"

// Each neighbour exchange method on its own, for `veche bench neighbours`.
extern "C" VECHE_MODULE_API veche::Neighbourhood* veche_mpi_neighbourhood(veche::MpiWay way,
                                                                          std::span<const int> sources,
                                                                          std::span<const int> readers,
                                                                          std::size_t length) {
  using namespace veche;
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  NeighbourTerms terms{.comm = MPI_COMM_WORLD,
                       .sources = {sources.begin(), sources.end()},
                       .readers = {readers.begin(), readers.end()},
                       .length = length,
                       .tag = static_cast<int>(way),
                       .oversubscribed = ranks > sysconf(_SC_NPROCESSORS_ONLN),
                       .origin = std::chrono::steady_clock::now()};
  switch (way) {
    case MpiWay::plain:
      return plain_neighbourhood(std::move(terms)).release();
    case MpiWay::collective:
      return collective_neighbourhood(std::move(terms)).release();
    case MpiWay::persistent:
      break;
  }
  return persistent_neighbourhood(std::move(terms)).release();
}
