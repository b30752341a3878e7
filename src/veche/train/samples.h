#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace veche {

// How many samples each node trains on at each step: known to everybody without talking.
struct SamplePlan {
  std::vector<std::size_t> shard_sizes;  // by node; empty when the learners bring their own data
  std::size_t batch = 1;
  std::uint64_t steps_per_epoch = 1;

  std::size_t count(std::size_t node, std::uint64_t step) const {
    if (shard_sizes.empty()) return 1;
    const std::size_t done = step % steps_per_epoch * batch;
    return shard_sizes[node] <= done ? 0 : std::min(batch, shard_sizes[node] - done);
  }

  // The part of all samples of this step that `node` has: the weight of its gradient in the mean over samples.
  double share(std::size_t node, std::size_t nodes, std::uint64_t step) const {
    std::size_t all = 0;
    for (std::size_t other = 0; other < nodes; ++other) all += count(other, step);
    return all == 0 ? 0 : static_cast<double>(count(node, step)) / static_cast<double>(all);
  }
};

}  // namespace veche
