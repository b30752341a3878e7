#include "veche/runtime/checkpoint/resume.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "veche/errors.h"

namespace veche {
namespace {

// The lengths of the parts of the model, one per stage.
std::vector<std::size_t> parts_of(Node& node, const RunPlan& plan) {
  if (!plan.training.pipeline) return {node.learner().parameters().size()};
  const PipelinePlan& pipeline = *plan.training.pipeline;
  std::vector<std::size_t> parts;
  for (int stage = 0; stage < pipeline.stages; ++stage)
    parts.push_back(pipeline.first_parameter(stage + 1) - pipeline.first_parameter(stage));
  return parts;
}

NodeState read_average(Node& node, const CheckpointStore& store, std::uint64_t checkpoint,
                       const RunPlan& plan, int saved_stages) {
  // The state of a strategy is about nodes that no longer exist.
  NodeState state = node.state(false);
  std::optional<CheckpointStore::Place> place;
  if (plan.training.pipeline) {
    const int stage = plan.training.pipeline->stage_of(node.endpoint().id());
    place = CheckpointStore::Place{plan.training.pipeline->first_parameter(stage),
                                   plan.training.pipeline->first_buffer(stage)};
  }
  store.read_average(checkpoint, state, saved_stages, place);
  // A run whose length is given in epochs keeps its epoch, which now has another number of steps.
  const int saved_replicas = store.nodes_at(checkpoint) / saved_stages;
  if (!plan.settings.run.steps)
    state.step = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(state.step) * saved_replicas / plan.replicas()));
  return state;
}

// The state that this node saved, in the layout of this version of Veche or of an earlier one.
NodeState read_own(Node& node, const CheckpointStore& store, std::uint64_t checkpoint) {
  NodeState state = node.state();
  const NodeId id = node.endpoint().id();
  try {
    store.read(checkpoint, id, state);
    return state;
  } catch (const RequestError&) {  // it does not fit, and nothing has been read
    std::optional<NodeState> older = node.older_state();
    if (!older) throw;
    store.read(checkpoint, id, *older);
    node.take_older_state();
    return *older;
  }
}

void copy(const NodeState& from, NodeState to) {
  for (std::size_t i = 0; i < from.vectors.size(); ++i)
    std::ranges::copy(from.vectors[i], to.vectors[i].begin());
}

}  // namespace

std::uint64_t resume(std::span<const std::unique_ptr<Node>> nodes, const CheckpointStore& store,
                     std::uint64_t checkpoint, const RunPlan& plan) {
  if (nodes.empty()) return checkpoint;
  const std::vector<std::size_t> parts = parts_of(*nodes.front(), plan);
  const std::vector<std::size_t> saved = store.parts_at(checkpoint, std::reduce(parts.begin(), parts.end()));
  if (store.nodes_at(checkpoint) == plan.learners() && saved == parts) {
    for (const auto& node : nodes) node->resume(read_own(*node, store, checkpoint), checkpoint);
    return checkpoint;
  }
  std::uint64_t step = checkpoint;
  std::vector<std::optional<NodeState>> averages(static_cast<std::size_t>(plan.stages()));
  for (const auto& node : nodes) {  // nodes of one stage continue from the same average
    const auto stage = static_cast<std::size_t>(node->endpoint().id().value % plan.stages());
    if (averages[stage])
      copy(*averages[stage], node->state(false));
    else
      averages[stage] = read_average(*node, store, checkpoint, plan, static_cast<int>(saved.size()));
    node->resume(*averages[stage], averages[stage]->step);
    step = averages[stage]->step;
  }
  return step;
}

}  // namespace veche
