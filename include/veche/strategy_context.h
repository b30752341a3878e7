#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "veche/channel.h"
#include "veche/learner.h"
#include "veche/optimizer.h"
#include "veche/options.h"
#include "veche/sample_weights.h"
#include "veche/topology.h"

namespace veche {

class Compression;  // the [compress] section; a strategy uses it through Compressor (veche/compression.h)

// What a strategy is made from. Everything it refers to outlives the strategy.
struct StrategyContext {
  Channel& channel;
  Learner& learner;
  Optimizer& optimizer;  // the training loop's, for a strategy that mixes or resets its state
  // The learning rate of a step, the same on every node.
  std::function<double(std::uint64_t step)> learning_rate;
  // Another optimiser like the loop's, for parameters()[from, from + length): for a strategy whose
  // nodes make the step for others.
  std::function<std::unique_ptr<Optimizer>(std::size_t from, std::size_t length)> make_optimizer;
  std::shared_ptr<const Topology> topology;  // null when the strategy uses no graph
  const SampleWeights& samples;
  std::vector<std::uint64_t> mix_every = {};  // cluster.mix_every by node; empty: the strategy's own period
  Options options = {};                       // the [strategy] section, checked against the strategy's keys
  std::uint64_t seed = 1;
  // Prunes and clips the learner's gradient, as the loop does before its own step. For a strategy
  // that sends gradients to a node that makes the step.
  std::function<void()> limit_gradient = [] {};
  const Compression* compression = nullptr;  // null: vectors are sent as floats

  std::size_t me() const { return static_cast<std::size_t>(channel.me().value); }
  std::size_t nodes() const { return static_cast<std::size_t>(channel.size()); }
};

}  // namespace veche
