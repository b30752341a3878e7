#pragma once

#include <deque>
#include <memory>

#include "veche/comm/mpi/mpi_sums.h"
#include "veche/comm/mpi/neighbours.h"
#include "veche/comm/mpi/progress_engine.h"
#include "veche/comm/mpi/shared_window_sums.h"
#include "veche/comm/node_threads.h"
#include "veche/comm/slots.h"

namespace veche {

// What the nodes of a rank share. All ranks close it together; never, when something was left behind in MPI.
struct MpiBranch {
  std::unique_ptr<SharedWindowSums>
      host_sums;  // where all ranks are on one host; closed last: by then all are there
  ProgressEngine progress_engine;
  std::optional<MpiSums> sums;              // where every rank has a node
  std::optional<MpiNeighbours> neighbours;  // where every rank has one
  Slots slots;
  std::deque<NodeThreads> threads;  // of the nodes here; last: helpers use all of the above

  MpiBranch(MPI_Comm comm, Placement placement, bool oversubscribed, JobState& job, int places,
            int ranks_here)
      : progress_engine(comm, placement, oversubscribed, job), slots(places, ranks_here) {
    for (int i = 0; i < placement.nodes_here(); ++i)
      threads.emplace_back(
          [this, node = NodeId{placement.first_here() + i}] { progress_engine.farewell(node); });
    if (placement.nodes < placement.ranks) return;
    sums.emplace(progress_engine);
    if (placement.ranks > 1) host_sums = SharedWindowSums::make(progress_engine, comm);
    if (placement.nodes == placement.ranks) neighbours.emplace(progress_engine);
  }
  NodeThreads& threads_of(NodeId local) {
    return threads.at(static_cast<std::size_t>(local.value - progress_engine.placement().first_here()));
  }
};

// A node of this rank. Keeps the branch open.
std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<MpiBranch> branch, NodeId id);

}  // namespace veche
