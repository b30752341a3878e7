#include "veche/train/loop/checkpoint_writer.h"

#include "veche/collectives.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/loop/membership.h"

namespace veche {

NodeState state_of(ModelState& model, Counters& counters) {
  NodeState state{.step = counters.step,
                  .train = counters.train,
                  .evaluated = counters.evaluated_train,
                  .sent = counters.sent,
                  .vectors = {model.learner->parameters(), model.learner->buffers()},
                  .numbers = {},
                  .counters = {&counters.lost, &counters.activations.bytes, &counters.activations.messages},
                  .trains = true};
  for (const std::span<float> part : model.optimizer->state()) state.vectors.push_back(part);
  if (!model.pruner.mask().empty()) state.vectors.push_back(model.pruner.mask());
  return state;
}

NodeState state_of(Connections& links, ModelState& model, Counters& counters, const TrainingPlan& plan) {
  if (links.pipeline() != nullptr) counters.activations = links.pipeline()->sent();
  NodeState state = state_of(model, counters);
  state.sent = links.strategy.sent();
  state.trains = links.replica() >= plan.idle();
  return state;
}

NodeState with_strategy(NodeState state, SavedState strategy) {
  state.vectors.insert(state.vectors.end(), strategy.vectors.begin(), strategy.vectors.end());
  state.numbers = std::move(strategy.numbers);
  return state;
}

CheckpointWriter::CheckpointWriter(const NodeParts& node)
    : node_(node), records_(node.membership.records()) {}

void CheckpointWriter::write(std::uint64_t number) {
  check_parameters(node_.model.learner->parameters(), node_.links.id(), node_.counters.step);
  node_.strategy.inspect([&] {
    // First: it may complete an exchange, which then counts as traffic.
    SavedState strategys = records_.with_strategy() ? node_.strategy.state() : SavedState{};
    NodeState state =
        with_strategy(state_of(node_.links, node_.model, node_.counters, node_.plan), std::move(strategys));
    node_.services.checkpointer->write(number, node_.links.id(), state);
  });
  if (!records_.tells_all()) node_.counters.last_checkpoint = number;
}

void CheckpointWriter::commit(std::uint64_t number) {
  if (records_.commits(node_.links.id(), node_.services.speaker)) node_.services.checkpointer->commit(number);
}

void CheckpointWriter::save(std::uint64_t number) {
  if (!enabled() || number == node_.counters.last_checkpoint) return;
  // The numbers of checkpoints never go back, also if this node has fewer steps than the newest
  // one.
  const std::uint64_t kept =
      number < node_.counters.newest_checkpoint ? node_.counters.newest_checkpoint + 1 : number;
  write(kept);
  barrier(node_.links.control);
  node_.counters.last_checkpoint = number;
  node_.counters.newest_checkpoint = kept;
  commit(kept);
}

}  // namespace veche
