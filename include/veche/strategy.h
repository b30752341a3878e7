#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/channel.h"
#include "veche/coding.h"
#include "veche/export.h"
#include "veche/key_spec.h"
#include "veche/learner.h"
#include "veche/saved_state.h"
#include "veche/staleness.h"
#include "veche/topology.h"

namespace veche {

// What a strategy has made of a node's gradient.
enum class Gradient {
  own,     // still of this node's samples: without any there is no step
  shared,  // of many nodes: worth a step even where this node had no samples
  used,    // the strategy has made the step itself
};

// What keeps the nodes' models in step: two moments in the one training loop, framed by a start and a finish.
// One instance a node, called by that node only. It sees flat vectors, the others through its channel, and
// the graph; never a tensor, never a clock of its own. One that must answer at any time starts a helper
// (Endpoint::spawn), which waits for messages; a mutex between the two is never held across a message. It
// throws PeerLost when it cannot go on without a peer.
class VECHE_API Strategy {
 public:
  virtual ~Strategy() = default;

  virtual void start() {}
  // The pass of step k is about to begin: the learner may tell of finished parts of the gradient during it.
  virtual void before_backward(std::uint64_t /*step*/) {}
  // The gradient of step k is there and may be changed; the parameters are still those it was taken at.
  virtual Gradient after_backward(std::uint64_t /*step*/) { return Gradient::own; }
  // Where the optimiser shall write the new parameters, asked before it does; empty: over the present ones.
  // One who sends them away saves a copy, and puts what the learner shall have into its parameters in
  // after_step.
  virtual std::span<float> step_target(std::uint64_t /*step*/) { return {}; }
  // The optimiser has made its step; the parameters may be changed. The gradient may be gone.
  virtual void after_step(std::uint64_t /*step*/) {}
  virtual void finish() {}

  // For those that are asynchronous. This node makes no more steps; others may still. `finish` comes when all
  // have left.
  virtual void leave() {}
  // Lets `look` see the learner, state() and staleness() while no helper changes them. It sends nothing.
  virtual void look_at_rest(const std::function<void()>& look) { look(); }
  virtual Staleness staleness() const { return {}; }

  // What a codec has made of its messages; of those that were given one.
  virtual Coding coding() const { return {}; }

  // Besides the learner and the optimiser.
  virtual SavedState state() { return {}; }
};

class Compression;  // train/compression/compression.h
class Optimizer;
class RateSchedule;
class SamplePlan;

// What a strategy is made from. What it refers to outlives it.
struct StrategyContext {
  Channel& channel;
  Learner& learner;
  Optimizer& optimizer;                      // the loop's, for those who share its state
  const RateSchedule& schedule;              // of the learning rate
  std::shared_ptr<const Topology> topology;  // when the strategy uses one
  const SamplePlan& samples;
  std::vector<std::uint64_t> mix_every;  // qc by node, when the nodes differ; empty: the strategy's own
  Options options;                       // the section [strategy], checked against the strategy's keys
  Options optimizer_options;             // to make another like it
  std::uint64_t seed = 1;
  // Prunes and bounds the learner's gradient, as the loop does before a step of its own: for those whose
  // gradients others make the step with.
  std::function<void()> limit_gradient = [] {};
  // The section [compress]; null: floats travel as they are.
  const Compression* compression = nullptr;

  std::size_t me() const { return static_cast<std::size_t>(channel.me().value); }
  std::size_t nodes() const { return static_cast<std::size_t>(channel.size()); }
};

// How nodes keep pace with each other.
enum class Pace {
  in_step,            // all make the same steps and wait for each other in them
  async,              // nobody is waited for; the steps are shared, so that quick nodes make more of them
  async_equal_steps,  // nobody is waited for for long: each makes all the steps
};

// What a strategy makes of the nodes' models: what must hold when nodes come and go between two steps.
enum class Replicas {
  own,     // each node has its own and may go on with it
  equal,   // all are the same to the bit: only the gradient is shared, before the same step everywhere
  served,  // all are the same, made by nodes that serve: these make the step
  bound,   // to these very nodes: a run cannot go on with others
};

// A line of the registry.
struct StrategyInfo {
  std::string name;
  std::string rule;           // one line for tables
  std::vector<KeySpec> keys;  // its own, besides `name`
  std::string shorthand;      // the key that `name:value` sets in a comparison, such as local-sgd:8
  bool one_learner = false;   // one node that sees everybody's batches
  enum class Graph {
    none,
    undirected,
    directed
  } graph = Graph::none;  // it talks along; directed: or one-way
  std::function<Pace(const Options&)> pace = [](const Options&) { return Pace::in_step; };
  // How many of the first nodes have no data and do not train, and how many nodes the graph has; by default
  // none and all.
  std::function<int(const Options&)> idle_nodes = [](const Options&) { return 0; };
  std::function<int(const Options&, int nodes)> graph_nodes = [](const Options&, int nodes) { return nodes; };
  std::function<Replicas(const Options&)> replicas = [](const Options&) { return Replicas::own; };
  // Whether state() is the same on all nodes and belongs to the common model, such as an outer optimiser's.
  std::function<bool(const Options&)> common_state = [](const Options&) { return false; };
  std::function<std::unique_ptr<Strategy>(StrategyContext)> make;

  bool uses_topology() const { return graph != Graph::none; }
};

}  // namespace veche
