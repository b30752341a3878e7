#pragma once

#include <memory>

#include "veche/comm/mpi/host_sums.h"
#include "veche/comm/mpi/native.h"
#include "veche/comm/mpi/neighbours.h"
#include "veche/comm/mpi/post_office.h"

namespace veche {

// What the nodes of a rank share. All ranks close it together; never, when something was left behind in MPI.
struct MpiBranch {
  std::unique_ptr<HostSums> host_sums;  // where all ranks are on one host; closed last: by then all are there
  PostOffice office;
  std::optional<MpiSums> sums;              // where every rank has a node
  std::optional<MpiNeighbours> neighbours;  // where every rank has one

  MpiBranch(MPI_Comm comm, Placement placement, bool crowded, JobState& job)
      : office(comm, placement, crowded, job) {
    if (placement.nodes < placement.ranks) return;
    sums.emplace(office);
    if (placement.ranks > 1) host_sums = HostSums::make(office, comm);
    if (placement.nodes == placement.ranks) neighbours.emplace(office);
  }
};

// A node of this rank. Keeps the branch open.
std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<MpiBranch> branch, NodeId id);

}  // namespace veche
