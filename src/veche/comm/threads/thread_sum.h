#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "veche/comm/shared_memory_sum.h"

namespace veche {

// The sum of the vectors of the nodes of one process, in place: nobody copies anything. Whoever takes a block
// adds it up in the order of nodes and writes the sum into everybody's vector.
class ThreadSum {
 public:
  using Clock = SharedMemorySum::Clock;
  explicit ThreadSum(int nodes);

  // Returns nothing when everybody's data are the sum; else who was missing, and then no data were changed.
  // `first_lost` tells which node is lost, if any is.
  std::optional<SharedMemorySum::Missing> all_reduce(
      NodeId me, std::span<float> data, Clock::time_point deadline,
      const std::function<std::optional<NodeId>()>& first_lost);

  // How long `me` has slept in here since it last asked.
  Clock::duration take_slept(NodeId me) {
    return std::exchange(nodes_[static_cast<std::size_t>(me.value)].state.slept, Clock::duration{0});
  }

  // Somebody was lost: those who wait check again.
  void wake_all() { shared_sum_.wake_all(); }

 private:
  class Sum;
  struct alignas(64) Node {
    std::span<float> data;             // written before arriving, read when all have arrived
    SharedMemorySum::NodeState state;  // its own
  };
  // A list for each of those who add up at a time, not for each node: they are as long as there are nodes.
  using Parts = std::vector<std::span<float>>;
  Parts take_scratch();
  void give_back(Parts parts);

  std::vector<Node> nodes_;
  SharedMemorySum::State state_{};
  std::vector<std::atomic<std::uint64_t>> came_;
  SharedMemorySum shared_sum_;
  std::mutex scratch_mutex_;
  std::vector<Parts> scratch_;  // that nobody uses now; guarded by scratch_mutex_
};

}  // namespace veche
