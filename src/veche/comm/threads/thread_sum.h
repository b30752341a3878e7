#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/shared_memory_sum.h"

namespace veche {

// The sum of the vectors of the nodes of one process, in place and without copies. The node that
// takes a block sums it in the order of nodes and writes the sum into the vectors of all nodes.
class ThreadSum {
 public:
  using Clock = SharedMemorySum::Clock;
  explicit ThreadSum(int nodes);

  // Returns nothing when the data of all nodes are the sum; else the missing node, and then no data
  // were changed. `first_lost` returns a lost node, if there is one.
  std::optional<SharedMemorySum::Missing> all_reduce(
      NodeId me, std::span<float> data, Clock::time_point deadline,
      const std::function<std::optional<NodeId>()>& first_lost);

  // The time that `me` has slept in this class since the last call.
  Clock::duration take_slept(NodeId me) {
    return std::exchange(nodes_[static_cast<std::size_t>(me.value)].state.slept, Clock::duration{0});
  }

  // A node was lost: all waits check again.
  void wake_all() { shared_sum_.wake_all(); }

 private:
  class Sum;
  struct alignas(64) Node {
    std::span<float> data;             // written before arriving, read when all have arrived
    SharedMemorySum::NodeState state;  // private to the node
  };
  // One list per concurrent caller, not per node: each list is as long as the number of nodes.
  using Parts = std::vector<std::span<float>>;
  Parts take_scratch();
  void give_back(Parts parts);

  std::vector<Node> nodes_;
  SharedMemorySum::State state_{};
  std::vector<std::atomic<std::uint64_t>> came_;
  SharedMemorySum shared_sum_;
  Mutex scratch_mutex_;
  std::vector<Parts> scratch_ VECHE_GUARDED_BY(scratch_mutex_);  // not in use
};

}  // namespace veche
