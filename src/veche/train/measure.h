#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "veche/comm/collectives.h"
#include "veche/data/dataset.h"
#include "veche/model/learner.h"
#include "veche/train/observer.h"
#include "veche/train/slots.h"

namespace veche {

// Measurements that all nodes make together, over the endpoint, in a fixed order: equal runs measure equal
// numbers.

// The mean of every node's vector, the same bits on all nodes.
std::vector<float> mean_over_nodes(Channel& channel, std::span<const float> mine);

// Seconds, images/s and cv from the nodes' reports; the first `idle` nodes do not count in cv.
void sum_up(Evaluation& evaluation, double squared_norm_of_mean, std::size_t idle = 0);

// What part of the test set to look at, in samples; the slot is taken for each batch.
Score evaluate_range(Learner& learner, const Dataset& data, std::size_t from, std::size_t to, Slots& slots);

// The test score of the averaged model: each node scores a slice of the test set with the mean in its
// learner, then gets its own parameters back.
Score evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                    Slots& slots);

// Everybody's item of a plain type, by node.
template <class T>
std::vector<T> gather(Channel& channel, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  for (const Message& message : all_gather(channel, channel.pool.copy_of_item(mine)))
    all.push_back(message.as<T>().front());
  return all;
}

}  // namespace veche
