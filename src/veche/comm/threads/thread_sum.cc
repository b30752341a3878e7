#include "veche/comm/threads/thread_sum.h"

#include "veche/vector_math.h"

namespace veche {

class ThreadSum::Sum : public SharedMemorySum::Work {
 public:
  Sum(std::vector<Node>& nodes, Node& mine, const std::function<std::optional<NodeId>()>& first_lost)
      : nodes_(nodes), mine_(mine), first_lost_(first_lost) {}

  void add_up(std::size_t from, std::size_t to) override {
    for (std::size_t i = 0; i < nodes_.size(); ++i) mine_.parts[i] = nodes_[i].data.subspan(from, to - from);
    sum_everywhere(mine_.parts);
  }
  std::optional<NodeId> first_lost() const override { return first_lost_(); }

 private:
  const std::vector<Node>& nodes_;
  Node& mine_;
  const std::function<std::optional<NodeId>()>& first_lost_;
};

ThreadSum::ThreadSum(int nodes)
    : nodes_(static_cast<std::size_t>(nodes)), came_(nodes_.size()), shared_sum_(state_, came_) {
  for (Node& node : nodes_) node.parts.resize(nodes_.size());
}

std::optional<SharedMemorySum::Missing> ThreadSum::all_reduce(
    NodeId me, std::span<float> data, Clock::time_point deadline,
    const std::function<std::optional<NodeId>()>& first_lost) {
  Node& node = nodes_[static_cast<std::size_t>(me.value)];
  node.data = data;
  Sum sum(nodes_, node, first_lost);
  return shared_sum_.run(me, node.state, data.size(), deadline, sum);
}

}  // namespace veche
