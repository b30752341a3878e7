#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "veche/random.h"
#include "veche/sample_weights.h"

namespace veche {

// The number of samples of each node at each step, which every node computes without communication.
// A slower node trains only at every qt-th step. Nodes with fewer batches than others wait for the
// next epoch or start theirs again. The first nodes may be idle: they have no samples and never
// train.
class SamplePlan final : public SampleWeights {
 public:
  enum class Uneven { wait, repeat };

  SamplePlan() = default;
  // Without sizes the learners bring their own data: one sample a step.
  SamplePlan(std::vector<std::size_t> shard_sizes, std::size_t batch, std::vector<std::uint64_t> train_every,
             Uneven uneven, std::size_t idle = 0)
      : SamplePlan(std::move(shard_sizes), std::vector<std::size_t>(1, batch), std::move(train_every), uneven,
                   idle) {}
  // With a batch per node, or one for all.
  SamplePlan(std::vector<std::size_t> shard_sizes, std::vector<std::size_t> batch_of_each,
             std::vector<std::uint64_t> train_every, Uneven uneven, std::size_t idle = 0)
      : sizes_(std::move(shard_sizes)),
        batches_(std::move(batch_of_each)),
        train_every_(std::move(train_every)),
        uneven_(uneven),
        idle_(idle) {
    for (std::size_t node = 0; node < sizes_.size(); ++node)
      if (sizes_[node] > 0)
        steps_per_epoch_ = std::max(steps_per_epoch_, (batches(node) - 1) * every(node) + 1);
  }

  // Each result of a node is lost with this probability: it has computed, but nothing comes of it.
  void lose(double probability, std::uint64_t seed) {
    lose_ = probability;
    seed_ = seed;
  }
  bool lost(std::size_t node, std::uint64_t step) const override {
    return lose_ > 0 && RandomStream(seed_, "lose", node, step).uniform() < lose_;
  }

  bool has_data(std::size_t node) const override {
    return node >= idle_ && (sizes_.empty() || sizes_[node] > 0);
  }
  std::size_t trainers(std::size_t nodes) const override {
    std::size_t count = 0;
    for (std::size_t node = 0; node < nodes; ++node) count += has_data(node) ? 1 : 0;
    return count;
  }
  // Samples that a node takes per step.
  std::size_t batch(std::size_t node) const { return batches_[std::min(node, batches_.size() - 1)]; }
  // Batches that contain the samples of all nodes once.
  std::uint64_t batches_per_epoch() const {
    std::uint64_t all = 0;
    for (std::size_t node = 0; node < sizes_.size(); ++node) all += batches(node);
    return all;
  }

  // Steps until every sample of every node was seen.
  std::uint64_t steps_per_epoch() const override { return steps_per_epoch_; }
  bool trains(std::size_t node, std::uint64_t step) const {
    return node >= idle_ && (sizes_.empty() ? step : step % steps_per_epoch_) % every(node) == 0;
  }
  // How many of its batches the node has taken before `step`, and how many make an epoch for its
  // loader.
  std::uint64_t taken(std::size_t node, std::uint64_t step) const {
    return step / steps_per_epoch_ * turns(node) + rounded_up(step % steps_per_epoch_, every(node));
  }
  std::uint64_t loader_steps_per_epoch(std::size_t node) const {
    return uneven_ == Uneven::repeat ? std::max<std::uint64_t>(batches(node), 1) : turns(node);
  }

  std::size_t count(std::size_t node, std::uint64_t step) const override {
    return lost(node, step) ? 0 : taken_at(node, step);
  }
  // The same, also where nothing comes of them.
  std::size_t taken_at(std::size_t node, std::uint64_t step) const {
    if (!trains(node, step)) return 0;
    if (sizes_.empty()) return 1;
    const std::size_t done = taken(node, step) % loader_steps_per_epoch(node) * batch(node);
    return sizes_[node] <= done ? 0 : std::min(batch(node), sizes_[node] - done);
  }

  // Of all nodes.
  std::size_t count_all(std::size_t nodes, std::uint64_t step) const {
    std::size_t all = 0;
    for (std::size_t node = 0; node < nodes; ++node) all += count(node, step);
    return all;
  }
  std::size_t count_lost(std::size_t nodes, std::uint64_t step) const {
    std::size_t all = 0;
    for (std::size_t node = 0; node < nodes; ++node)
      all += lost(node, step) && taken_at(node, step) > 0 ? 1 : 0;
    return all;
  }

  // The part of all samples of this step that `node` has: the weight of its gradient in the mean
  // over samples.
  double share(std::size_t node, std::size_t nodes, std::uint64_t step) const override {
    const std::size_t all = count_all(nodes, step);
    return all == 0 ? 0 : static_cast<double>(count(node, step)) / static_cast<double>(all);
  }

  // The part of all data that `node` has: its weight in a mean over data.
  double weight(std::size_t node, std::size_t nodes) const override {
    if (sizes_.empty()) return has_data(node) ? 1.0 / static_cast<double>(trainers(nodes)) : 0;
    std::size_t all = 0;
    for (const std::size_t size : sizes_) all += size;
    return static_cast<double>(sizes_[node]) / static_cast<double>(all);
  }

 private:
  static std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }
  std::uint64_t every(std::size_t node) const { return node < train_every_.size() ? train_every_[node] : 1; }
  std::uint64_t batches(std::size_t node) const { return rounded_up(sizes_[node], batch(node)); }
  std::uint64_t turns(std::size_t node) const { return rounded_up(steps_per_epoch_, every(node)); }

  std::vector<std::size_t> sizes_;       // by node; empty when the learners bring their own data
  std::vector<std::size_t> batches_{1};  // by node, or one for all
  std::vector<std::uint64_t> train_every_;
  Uneven uneven_ = Uneven::wait;
  std::size_t idle_ = 0;
  std::uint64_t steps_per_epoch_ = 1;
  double lose_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace veche
