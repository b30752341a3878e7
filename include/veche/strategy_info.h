#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/key_spec.h"
#include "veche/strategy.h"

namespace veche {

// How nodes keep pace with each other.
enum class Pace {
  in_step,            // all nodes make the same steps and wait for each other
  async,              // no node waits; the steps are shared, so fast nodes make more of them
  async_equal_steps,  // nodes wait only when too far ahead; each makes all the steps
};

// How the nodes' models relate: decides what must hold when nodes join or leave between two steps.
enum class Replicas {
  own,     // each node has its own model and can go on with it
  equal,   // all models are equal to the bit: only gradients are exchanged, before the same step everywhere
  served,  // all models are equal and made by serving nodes, which make the step
  bound,   // tied to exactly these nodes: the run cannot go on with others
};

// What a strategy sends that a codec compresses (docs/compression.md).
enum class CodedExchange {
  undeclared,  // it does not use the run's codec: compress.codec is refused
  nothing,     // it sends nothing
  gradients,   // sums of gradients, or gradients to a server
  deltas,      // sums of the changes of models since the last exchange
  copies,      // models, as differences from copies that both ends keep (CHOCO)
  both,        // gradients inside groups, models between groups
};

// Why something cannot be done, and what to do instead.
struct Refusal {
  std::string reason;
  std::string instead;
};

// State of a strategy that is the same on all nodes and belongs to the common model.
struct CommonState {
  std::string name;     // "an outer optimiser"
  std::string instead;  // how to do without it: "leave out strategy.outer"
};

// What a strategy is told about a run before it accepts its codec.
struct CodecRequest {
  const Options& options;   // the [strategy] section
  bool lossy = false;       // codes drop values, which later ones make up for; false for rounding only
  bool async = false;       // nodes do not wait for each other
  bool fixed_graph = true;  // the neighbours are the same in every round
  bool equal_nodes = true;  // all nodes mix after the same steps
  bool equal_start = true;  // all models start equal
};

// What a strategy can do with the [compress] section.
struct CodedAbility {
  CodedExchange exchange = CodedExchange::undeclared;
  // Whether, with these options, it can exchange differences along edges (powergossip); empty:
  // never.
  std::function<bool(const Options&)> edges = {};
  // What `edges` asks of the options, for messages: "no strategy.correction". Empty: nothing.
  std::string edges_need = {};
  // Whether it can take the majority of the nodes' signs (compress.vote).
  bool votes = false;
  // Why these options cannot be used with a codec: "REASON; INSTEAD". None: they can.
  std::function<std::optional<Refusal>(const CodecRequest&)> refuses = {};
};

// An entry of the registry: everything that the rest of Veche knows about a strategy.
struct StrategyInfo {
  std::string name;
  std::string rule;           // one line for tables
  std::vector<KeySpec> keys;  // its own, besides `name`
  std::string shorthand;      // the key that `name:value` sets in a comparison, such as local-sgd:8
  bool one_learner = false;   // one node sees the batches of all nodes
  enum class Graph {
    none,
    undirected,
    directed
  } graph = Graph::none;  // the graph it communicates along; directed: allows one-way edges
  std::function<Pace(const Options&)> pace = [](const Options&) { return Pace::in_step; };
  // How many of the first nodes have no data and do not train (default: none), and how many nodes
  // the graph has (default: all).
  std::function<int(const Options&)> idle_nodes = [](const Options&) { return 0; };
  std::function<int(const Options&, int nodes)> graph_nodes = [](const Options&, int nodes) { return nodes; };
  std::function<Replicas(const Options&)> replicas = [](const Options&) { return Replicas::own; };
  // Replicas::served: whether the servers' step takes the sum of the nodes' gradients. False: their
  // mean over samples.
  std::function<bool(const Options&)> sums_gradients = [](const Options&) { return false; };
  // Changes options that need more nodes than there are: a view of the grid may have few members.
  std::function<void(Options&, int nodes)> fit_to_nodes = [](Options&, int) {};
  // What of state() is the same on all nodes and belongs to the common model, such as an outer
  // optimiser's. None: each node has its own.
  std::function<std::optional<CommonState>(const Options&)> common_state = [](const Options&) {
    return std::optional<CommonState>();
  };
  // How to keep every layer whole, if `make` asks for optimisers of parts of the model; for
  // messages: "set strategy.servers to 1".
  std::string keeps_layers_whole = "choose another strategy";

  CodedAbility coded = {};
  // Why these options cannot be used on the grid, where members join and leave. The message is
  // "REASON cannot be used where members come and go; INSTEAD". None: they can. Strategies with
  // one_learner or Replicas::bound are refused without being asked.
  std::function<std::optional<Refusal>(const Options&)> refuses_grid = [](const Options&) {
    return std::optional<Refusal>();
  };
  // Besides, why these options cannot be used there with a model in stages, whose nodes complete a
  // step that was cut off by the mean of the gradients they have kept. None: they can.
  std::function<std::optional<Refusal>(const Options&)> refuses_completed_steps = [](const Options&) {
    return std::optional<Refusal>();
  };
  // Why these options cannot be used with a model cut into stages. The message is "strategy.name =
  // NAME REASON: with pipeline.stages = N choose another, INSTEAD". None: they can. Strategies with
  // one_learner are refused without being asked.
  std::function<std::optional<Refusal>(const Options&)> refuses_pipeline = [](const Options&) {
    return std::optional<Refusal>();
  };

  std::function<std::unique_ptr<Strategy>(StrategyContext)> make;
  // Whether each node needs a thread of its own in virtual time too, where nodes otherwise are
  // stacks of one thread. For code of an interpreter.
  bool needs_threads = false;

  bool uses_topology() const { return graph != Graph::none; }
};

}  // namespace veche
