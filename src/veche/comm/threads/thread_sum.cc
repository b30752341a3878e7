#include "veche/comm/threads/thread_sum.h"

#include "veche/vector_math.h"

namespace veche {

class ThreadSum::Sum : public SharedMemorySum::Work {
 public:
  Sum(ThreadSum& all, const std::function<std::optional<NodeId>()>& first_lost)
      : all_(all), first_lost_(first_lost) {}

  void add_up(std::size_t from, std::size_t to) override {
    Parts parts = all_.take_scratch();
    for (const Node& node : all_.nodes_) parts.push_back(node.data.subspan(from, to - from));
    sum_everywhere(parts);
    all_.give_back(std::move(parts));
  }
  std::optional<NodeId> first_lost() const override { return first_lost_(); }

 private:
  ThreadSum& all_;
  const std::function<std::optional<NodeId>()>& first_lost_;
};

ThreadSum::ThreadSum(int nodes)
    : nodes_(static_cast<std::size_t>(nodes)), came_(nodes_.size()), shared_sum_(state_, came_) {}

ThreadSum::Parts ThreadSum::take_scratch() {
  const MutexLock lock(scratch_mutex_);
  if (scratch_.empty()) return {};
  Parts parts = std::move(scratch_.back());
  scratch_.pop_back();
  return parts;
}

void ThreadSum::give_back(Parts parts) {
  parts.clear();
  const MutexLock lock(scratch_mutex_);
  scratch_.push_back(std::move(parts));
}

std::optional<SharedMemorySum::Missing> ThreadSum::all_reduce(
    NodeId me, std::span<float> data, Clock::time_point deadline,
    const std::function<std::optional<NodeId>()>& first_lost) {
  Node& node = nodes_[static_cast<std::size_t>(me.value)];
  node.data = data;
  Sum sum(*this, first_lost);
  return shared_sum_.run(me, node.state, data.size(), deadline, sum);
}

}  // namespace veche
