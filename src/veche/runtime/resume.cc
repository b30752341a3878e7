#include "veche/runtime/resume.h"

#include <algorithm>
#include <cmath>

namespace veche {
namespace {

NodeState read_average(Node& node, const CheckpointStore& store, std::uint64_t checkpoint,
                       const RunPlan& plan) {
  // What a strategy keeps is about nodes that are no more.
  NodeState state = node.state(false);
  store.read_average(checkpoint, state);
  // Epochs are the measure of a run that was given in epochs, and have another number of steps now.
  if (!plan.settings.run.has("steps"))
    state.step = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(state.step) * store.nodes_at(checkpoint) / plan.learners()));
  return state;
}

void copy(const NodeState& from, NodeState to) {
  for (std::size_t i = 0; i < from.vectors.size(); ++i)
    std::ranges::copy(from.vectors[i], to.vectors[i].begin());
}

}  // namespace

std::uint64_t resume(std::span<const std::unique_ptr<Node>> nodes, const CheckpointStore& store,
                     std::uint64_t checkpoint, const RunPlan& plan) {
  if (store.nodes_at(checkpoint) == plan.learners()) {
    for (const auto& node : nodes) {
      NodeState state = node->state();
      store.read(checkpoint, node->endpoint().id(), state);
      node->resume(state, checkpoint);
    }
    return checkpoint;
  }
  if (nodes.empty()) return checkpoint;
  const NodeState average = read_average(*nodes.front(), store, checkpoint, plan);
  for (const auto& node : nodes) {
    if (node != nodes.front()) copy(average, node->state(false));
    node->resume(average, average.step);
  }
  return average.step;
}

}  // namespace veche
