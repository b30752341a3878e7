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

// State shared by the nodes of a rank. Closing it is collective; it is never closed if MPI may
// still use its memory.
struct MpiShared {
  // If all ranks are on one host. Closed last: by then all are there.
  std::unique_ptr<SharedWindowSums> window_sums;
  ProgressEngine progress_engine;
  std::optional<MpiSums> sums;              // if every rank has a node
  std::optional<MpiNeighbours> neighbours;  // if every rank has one
  Slots slots;
  std::deque<NodeThreads> threads;  // of the local nodes; declared last: helpers use all of the above

  MpiShared(MPI_Comm comm, Placement placement, bool oversubscribed, JobState& job, int slot_count,
            int ranks_here)
      : progress_engine(comm, placement, oversubscribed, job), slots(slot_count, ranks_here) {
    for (int i = 0; i < placement.nodes_here(); ++i)
      threads.emplace_back(
          [this, node = NodeId{placement.first_here() + i}] { progress_engine.leave(node); });
    if (placement.nodes < placement.ranks) return;
    sums.emplace(progress_engine);
    if (placement.ranks > 1) window_sums = SharedWindowSums::make(progress_engine, comm);
    if (placement.nodes == placement.ranks) neighbours.emplace(progress_engine);
  }
  NodeThreads& threads_of(NodeId local) {
    return threads.at(static_cast<std::size_t>(local.value - progress_engine.placement().first_here()));
  }
};

// A node of this rank. Keeps the shared state open.
std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<MpiShared> shared, NodeId id);

}  // namespace veche
