#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "veche/comm/mpi/progress_engine.h"
#include "veche/comm/neighbourhood.h"

namespace veche {

// The neighbours of an exchange, one node per rank. `lost`, which may be empty, returns a lost
// node; -1: none.
struct NeighbourTerms {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> sources = {};
  std::vector<int> readers = {};
  std::size_t length = 0;                             // floats
  int tag = 0;                                        // unique for every neighbourhood of a communicator
  bool oversubscribed = false;                        // more ranks than cores
  std::chrono::steady_clock::time_point origin = {};  // origin of the deadlines' clock
  JobState* job = nullptr;                            // may be null
  std::function<int()> lost = {};
};

// Shared by the neighbourhoods of a job in which every rank has one node.
class MpiNeighbours {
 public:
  // Collective.
  explicit MpiNeighbours(ProgressEngine& progress_engine);
  ~MpiNeighbours();

  std::unique_ptr<Neighbourhood> make(std::span<const NodeId> sources, std::span<const NodeId> readers,
                                      std::size_t length, std::chrono::steady_clock::time_point origin);

 private:
  ProgressEngine& progress_engine_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int made_ = 0;
};

// Persistent MPI requests; receives are always posted ahead.
std::unique_ptr<Neighbourhood> persistent_neighbourhood(NeighbourTerms terms);
// MPI_Ineighbor_allgather on a graph that all ranks create; collective.
std::unique_ptr<Neighbourhood> collective_neighbourhood(NeighbourTerms terms);
// New MPI_Irecv and MPI_Isend every time.
std::unique_ptr<Neighbourhood> plain_neighbourhood(NeighbourTerms terms);

}  // namespace veche
