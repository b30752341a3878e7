#include "veche/comm/threads/thread_sum.h"

#include "veche/vector_math.h"

namespace veche {

class ThreadSum::Sum : public SharedMemorySum::Work {
 public:
  Sum(std::vector<Place>& places, Place& mine, const std::function<std::optional<NodeId>()>& first_lost)
      : places_(places), mine_(mine), first_lost_(first_lost) {}

  void add_up(std::size_t from, std::size_t to) override {
    for (std::size_t i = 0; i < places_.size(); ++i)
      mine_.parts[i] = places_[i].data.subspan(from, to - from);
    sum_everywhere(mine_.parts);
  }
  std::optional<NodeId> first_lost() const override { return first_lost_(); }

 private:
  const std::vector<Place>& places_;
  Place& mine_;
  const std::function<std::optional<NodeId>()>& first_lost_;
};

ThreadSum::ThreadSum(int nodes)
    : places_(static_cast<std::size_t>(nodes)), came_(places_.size()), shared_sum_(state_, came_) {
  for (Place& place : places_) place.parts.resize(places_.size());
}

std::optional<SharedMemorySum::Missing> ThreadSum::all_reduce(
    NodeId me, std::span<float> data, Clock::time_point deadline,
    const std::function<std::optional<NodeId>()>& first_lost) {
  Place& place = places_[static_cast<std::size_t>(me.value)];
  place.data = data;
  Sum sum(places_, place, first_lost);
  return shared_sum_.meet(me, place.seat, data.size(), deadline, sum);
}

}  // namespace veche
