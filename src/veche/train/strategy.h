#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "veche/base/keys.h"
#include "veche/comm/channel.h"
#include "veche/graph/topology.h"
#include "veche/model/learner.h"
#include "veche/train/optimizer.h"
#include "veche/train/samples.h"
#include "veche/train/schedule.h"
#include "veche/train/staleness.h"

namespace veche {

// What keeps the nodes' models in step: two moments in the one training loop, framed by a start and a finish.
// One instance a node, called by that node's thread only. It sees flat vectors, the others through its
// channel, and the graph; never a tensor, never a clock of its own. It throws PeerLost when it cannot go on
// without a peer.
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual void start() {}
  // The pass of step k is about to begin: the learner may tell of finished parts of the gradient during it.
  virtual void before_backward(std::uint64_t /*step*/) {}
  // The gradient of step k is there and may be changed; the parameters are still those it was taken at.
  virtual void after_backward(std::uint64_t /*step*/) {}
  // Where the optimiser shall write the new parameters, asked before it does; empty: over the present ones.
  // One who sends them away saves a copy, and puts what the learner shall have into its parameters in
  // after_step.
  virtual std::span<float> step_target(std::uint64_t /*step*/) { return {}; }
  // The optimiser has made its step; the parameters may be changed.
  virtual void after_step(std::uint64_t /*step*/) {}
  virtual void finish() {}

  // For those whose nodes go at their own pace (StrategyInfo::own_pace). This node makes no more steps;
  // others may still. `finish` comes when all have left.
  virtual void leave() {}
  // Until it is let go, no thread but the caller's changes the learner or what state() and staleness() tell.
  virtual std::unique_lock<std::mutex> hold() { return {}; }
  virtual Staleness staleness() const { return {}; }

  // What a checkpoint must keep besides the learner and the optimiser.
  virtual std::vector<std::span<float>> state() { return {}; }
};

// What a strategy is made from. What it refers to outlives it.
struct StrategyContext {
  Channel& channel;
  Learner& learner;
  Optimizer& optimizer;                      // the loop's, for those who share its state
  const Schedule& schedule;                  // of the learning rate
  std::shared_ptr<const Topology> topology;  // when the strategy uses one
  SamplePlan samples;
  std::vector<std::uint64_t> mix_every;  // qc by node, when the nodes differ; empty: the strategy's own
  Options options;                       // the section [strategy], checked against the strategy's keys
  Options optimizer_options;             // to make another like it
  std::uint64_t seed = 1;

  std::size_t me() const { return static_cast<std::size_t>(channel.me().value); }
  std::size_t nodes() const { return static_cast<std::size_t>(channel.size()); }
};

// A line of the registry.
struct StrategyInfo {
  std::string name;
  std::string rule;           // one line for tables
  std::vector<KeySpec> keys;  // its own, besides `name`
  std::string shorthand;      // the key that `name:value` sets in a comparison, such as local-sgd:8
  bool one_learner = false;   // one node that sees everybody's batches
  bool uses_topology = false;
  bool directed_graph = false;    // works on one-way edges
  bool shares_gradients = false;  // the gradient of a node without samples is still worth a step
  bool makes_the_step = false;    // changes the parameters itself instead of the loop's optimiser
  // Whether nodes never meet between start and finish, each going as fast as it can; and whether each of them
  // then makes as many steps as the plan has, instead of sharing them so that quick ones make more.
  std::function<bool(const Options&)> own_pace = [](const Options&) { return false; };
  std::function<bool(const Options&)> equal_steps = [](const Options&) { return false; };
  // How many of the first nodes have no data and do not train, and how many nodes the graph has; by default
  // none and all.
  std::function<int(const Options&)> idle_nodes = [](const Options&) { return 0; };
  std::function<int(const Options&, int nodes)> graph_nodes = [](const Options&, int nodes) { return nodes; };
  std::function<std::unique_ptr<Strategy>(StrategyContext)> make;
};

}  // namespace veche
