#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "veche/comm/mpi/progress_engine.h"
#include "veche/comm/shared_memory_sum.h"

namespace veche {

// Sums over all nodes if all ranks are on one host, through MPI shared memory. As between threads,
// any awake node adds up, in node order, and waiting takes no core. Every node copies its vector in
// and the sum out, a part at a time, so that the parts stay in the caches. All nodes call in the
// same order.
class SharedWindowSums {
 public:
  // Collective. Null if ranks are on several hosts or get no shared memory. The progress engine may
  // close first.
  static std::unique_ptr<SharedWindowSums> make(const ProgressEngine& progress_engine, MPI_Comm comm);
  // Collective.
  ~SharedWindowSums() { MPI_Win_free(&window_); }
  SharedWindowSums(const SharedWindowSums&) = delete;
  SharedWindowSums& operator=(const SharedWindowSums&) = delete;

  // Whether this is the fastest method for this length. If every node has a core, MPI copies
  // vectors of medium length directly between ranks, in the time that copying in and out takes
  // here.
  bool is_best_for(std::size_t floats) const;

  // Replaces the data by the sum over all nodes; otherwise returns the missing node.
  std::optional<SharedMemorySum::Missing> sum(NodeId node, std::span<float> data,
                                              SharedMemorySum::Clock::time_point deadline);
  // Time that a node of this rank has slept here since the last call.
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
  std::vector<Node> nodes_;              // the local nodes, each its own
  std::span<float> total_;               // shared, like the next
  std::vector<std::span<float>> slots_;  // one per node
  SharedMemorySum shared_sum_;
};

}  // namespace veche
