#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "veche/collectives.h"
#include "veche/dataset.h"
#include "veche/learner.h"
#include "veche/report.h"

namespace veche {

// Measurements in which all nodes take part, over the endpoint, in a fixed order: equal runs measure equal
// numbers.

// The mean of the nodes' vectors but for the first `idle`, the same bits on all nodes: those of
// ModelAverage (veche/vector_math.h), which also exports use.
std::vector<float> mean_over_nodes(Channel& channel, std::span<const float> mine, std::size_t idle = 0);

// Seconds, images/s and cv from the nodes' reports; the first `idle` nodes do not count in cv.
void sum_up(Evaluation& evaluation, double squared_norm_of_mean, std::size_t idle = 0);

// What part of the test set to look at, in samples.
Score evaluate_range(Endpoint& endpoint, Learner& learner, const Dataset& data, std::size_t from,
                     std::size_t to);

// The test score of the averaged model: each node scores a slice of the test set with the mean in its
// learner, then gets its own parameters back.
Score evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                    std::size_t idle = 0);

// Everybody's item of a plain type, by node.
template <class T>
std::vector<T> gather(Channel& channel, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  for (const Message& message : all_gather(channel, channel.pool.copy_of_item(mine)))
    all.push_back(message.as<T>().front());
  return all;
}

// The same at node 0 only, for many nodes; nothing at the others.
template <class T>
std::vector<T> gather_at_first(Channel& channel, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (channel.me() != NodeId{0}) {
    channel.send(NodeId{0}, channel.pool.copy_of_item(mine));
    return {};
  }
  std::vector<T> all{mine};
  for (int node = 1; node < channel.size(); ++node)
    all.push_back(channel.expect(NodeId{node}).template as<T>().front());
  return all;
}

}  // namespace veche
