#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "veche/comm/mpi/progress_engine.h"
#include "veche/comm/shared_memory_sum.h"

namespace veche {

// Sums over all nodes where all ranks are on one host, through memory that MPI lets them share: as between
// threads, whoever is awake adds up, in the order of nodes, and waiting takes no core. Every node copies its
// vector in and the sum out, a part at a time, so that the parts stay in the caches. All nodes call in the
// same order.
class SharedWindowSums {
 public:
  // Collective. Nothing where ranks are on several hosts or get no memory to share. The progress engine may
  // close before.
  static std::unique_ptr<SharedWindowSums> make(const ProgressEngine& progress_engine, MPI_Comm comm);
  // Collective.
  ~SharedWindowSums() { MPI_Win_free(&window_); }
  SharedWindowSums(const SharedWindowSums&) = delete;
  SharedWindowSums& operator=(const SharedWindowSums&) = delete;

  // Whether this is the quickest way for so many floats. Where every node has a core, MPI copies vectors of
  // middle length straight from one rank to the other, in the time that copying in and out takes here.
  bool is_best_for(std::size_t floats) const;

  // Data become the sum over all nodes; else who was missing.
  std::optional<SharedMemorySum::Missing> sum(NodeId node, std::span<float> data,
                                              SharedMemorySum::Clock::time_point deadline);
  // How long a node of this rank has slept in here since it last asked.
  SharedMemorySum::Clock::duration take_slept(NodeId node);

 private:
  class Part;
  struct Layout;
  SharedWindowSums(const ProgressEngine& progress_engine, MPI_Win window, const Layout& layout);
  struct Node {
    SharedMemorySum::NodeState state;
    std::vector<std::span<float>> parts;  // scratch
  };
  Node& local(NodeId node);

  const ProgressEngine& progress_engine_;
  const int first_here_;
  MPI_Win window_;
  std::vector<Node> nodes_;              // those here, each its own
  std::span<float> total_;               // shared, as the next
  std::vector<std::span<float>> slots_;  // one a node
  SharedMemorySum shared_sum_;
};

}  // namespace veche
