#include "veche/runtime/resume.h"

#include <algorithm>
#include <cmath>

namespace veche {
namespace {

void read_average(Node& node, const CheckpointStore& store, std::uint64_t checkpoint, const RunPlan& plan) {
  NodeState& state = node.resumed;
  // What a strategy keeps is about nodes that are no more.
  state.vectors.resize(state.vectors.size() - node.strategy->state().size());
  store.read_average(checkpoint, state);
  // Epochs are the measure of a run that was given in epochs, and have another number of steps now.
  if (!plan.settings.run.has("steps"))
    state.step = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(state.step) * store.nodes_at(checkpoint) / plan.learners()));
}

void copy(const NodeState& from, NodeState& to) {
  to.vectors.resize(from.vectors.size());
  for (std::size_t i = 0; i < from.vectors.size(); ++i)
    std::ranges::copy(from.vectors[i], to.vectors[i].begin());
  to.step = from.step;
}

}  // namespace

std::uint64_t resume(std::span<const std::unique_ptr<Node>> nodes, const CheckpointStore& store,
                     std::uint64_t checkpoint, const RunPlan& plan) {
  const bool as_it_was = store.nodes_at(checkpoint) == plan.learners();
  for (const auto& node : nodes) {
    node->resumed.vectors = state_vectors(*node->learner, *node->optimizer, node->pruner, *node->strategy);
    if (as_it_was)
      store.read(checkpoint, node->endpoint->id(), node->resumed);
    else if (node == nodes.front())
      read_average(*node, store, checkpoint, plan);
    else
      copy(nodes.front()->resumed, node->resumed);
  }
  return as_it_was || nodes.empty() ? checkpoint : nodes.front()->resumed.step;
}

}  // namespace veche
