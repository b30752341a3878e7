#include "veche/train/node/node.h"

#include "veche/train/loop/checkpoint_writer.h"
#include "veche/train/loop/make_strategy.h"
#include "veche/train/loop/membership.h"
#include "veche/train/node/train_node.h"

namespace veche {

Node::Node(std::unique_ptr<Endpoint> endpoint, ModelState model, const Counters& counters,
           const TrainingPlan& plan, MessagePool pool)
    : plan_(plan),
      model_(std::move(model)),
      counters_(counters),
      links_(std::move(endpoint), std::move(pool), *model_.learner, plan),
      clip_(plan.clip, model_, links_.pipeline()),
      strategy_(make_strategy(plan, links_, *model_.learner, model_, clip_)) {}

NodeState Node::state(bool with_strategys) {
  NodeState state = state_of(links_, model_, counters_, plan_);
  return with_strategys ? with_strategy(std::move(state), strategy_.state()) : state;
}

std::optional<NodeState> Node::older_state() {
  ReadsOlderState* older = strategy_.reads_older_state();
  if (older == nullptr) return {};
  return with_strategy(state(false), older->older_state());
}

void Node::take_older_state() { strategy_.reads_older_state()->take_older_state(); }

void Node::resume(const NodeState& state, std::uint64_t checkpoint) {
  counters_.step = state.step;
  counters_.train = state.train;
  counters_.evaluated_train = state.evaluated;
  links_.strategy.set_sent(state.sent);
  if (links_.pipeline() != nullptr) links_.pipeline()->set_sent(counters_.activations);
  counters_.last_checkpoint = counters_.mean_step = checkpoint;
}

Evaluation Node::run(const NodeServices& services) {
  Membership membership(services.interrupted);
  const NodeParts parts{plan_, services, links_, model_, counters_, strategy_, membership};
  BatchFeed feed(links_, plan_, counters_.step, services.prefetcher);
  TrainingStep step(parts, clip_, feed);
  return train_node(parts, step, feed);
}

}  // namespace veche
