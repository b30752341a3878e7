#include "veche/train/loop/node.h"

#include <cmath>

#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/train/async/async_loop.h"
#include "veche/train/loop/loop.h"
#include "veche/vector_math.h"

namespace veche {

Node::Node(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Learner> learner, const TrainingPlan& plan,
           MessagePool pool)
    : plan_(plan),
      endpoint_(std::move(endpoint)),
      pool_(std::move(pool)),
      learner_(std::move(learner)),
      pipeline_(plan.pipeline
                    ? std::make_unique<Pipeline>(*endpoint_, pool_, patience_,
                                                 dynamic_cast<Stage&>(*learner_), *plan.pipeline, traced())
                    : nullptr),
      optimizer_(make_optimizer(plan.optimizer_options, layers_of(*learner_))),
      pruner_(plan.pruning, *learner_, learner_->parameters().size()),
      strategy_(plan.strategy.make({talk_, *learner_, *optimizer_, plan.schedule, plan.topology, plan.samples,
                                    plan.mix_every, plan.strategy_options, plan.optimizer_options, plan.seed,
                                    [this] { limit_gradient(); },
                                    plan.compression ? &*plan.compression : nullptr})) {
  if (traced() != nullptr) talk_.on_wait([this](Time took) { trace_.span("wait", now() - took, now()); });
  if (strategy_ == nullptr)
    throw RequestError("strategy.name = \"" + plan.strategy.name +
                       "\": the program that registered it made none");
}

NodeState Node::state(bool with_strategy) {
  NodeState state{.step = step_,
                  .train = train_,
                  .evaluated = evaluated_train_,
                  .sent = talk_.sent(),
                  .vectors = {learner_->parameters(), learner_->buffers()},
                  .numbers = {},
                  .trains = replica() >= plan_.idle()};
  const auto keep = [&](const std::vector<std::span<float>>& parts) {
    state.vectors.insert(state.vectors.end(), parts.begin(), parts.end());
  };
  keep(optimizer_->state());
  if (!pruner_.mask().empty()) keep({pruner_.mask()});
  if (!with_strategy) return state;
  SavedState strategys = strategy_->state();
  keep(strategys.vectors);
  state.numbers = std::move(strategys.numbers);
  return state;
}

void Node::resume(const NodeState& state, std::uint64_t checkpoint) {
  step_ = state.step;
  train_ = state.train;
  evaluated_train_ = state.evaluated;
  talk_.set_sent(state.sent);
  last_checkpoint_ = mean_step_ = checkpoint;
}

void Node::open_data() {
  if (pipeline_ && !pipeline_->first()) return;
  std::vector<Loader::Shard> shards = plan_.shards_of(replica());
  if (plan_.data.exchanged > 0) {
    SampleExchange::Plan plan{.home = plan_.data.partition,
                              .exchanged = plan_.data.exchanged,
                              .seed = plan_.seed,
                              .steps_per_epoch = plan_.samples.steps_per_epoch(),
                              .stands_for = {static_cast<int>(replica())},
                              .first_step = step_};
    if (plan_.strategy.one_learner) {
      plan.stands_for.clear();
      for (const Loader::Shard& shard : shards) plan.stands_for.push_back(shard.node);
    }
    exchange_.emplace(samples_, plan_.data.train, std::move(plan));
  }
  if (shards.empty() || !plan_.learns) return;
  loader_.emplace(exchange_ ? exchange_->data() : plan_.data.train, std::move(shards),
                  Loader::Plan{.batch = plan_.data.batch,
                               .steps_per_epoch = plan_.samples.loader_steps_per_epoch(replica()),
                               .seed = plan_.seed,
                               .augment = plan_.data.augment,
                               .first_step = plan_.samples.taken(replica(), step_),
                               .waits_for_epochs = exchange_.has_value()},
                  services_->prefetcher);
}

Evaluation Node::run(const NodeServices& services) {
  services_ = &services;
  // However it ends: the prefetcher may be gone before this node is.
  const std::unique_ptr<Node, void (*)(Node*)> closed(this, [](Node* node) { node->loader_.reset(); });
  open_data();
  pruner_.settle();
  if (step_ == 0) prune();
  strategy_->start();
  Evaluation last = plan_.async() ? run_async(*this) : run_in_step(*this);
  endpoint_->flush();
  return last;
}

void Node::check(const Score& score, std::uint64_t step) const {
  if (!std::isfinite(score.loss_sum)) diverged("loss", step);
}

void Node::check_parameters() const {
  if (!std::isfinite(squared_norm(learner_->parameters()))) diverged("model", step_);
}

void Node::diverged(const std::string& what, std::uint64_t step) const {
  throw Diverged("the " + what + " of node " + std::to_string(me()) + " is not a number at step " +
                 std::to_string(step) + ": lower optimizer.lr, or bound the gradient with optimizer.clip");
}

void Node::save(std::uint64_t number) {
  check_parameters();
  strategy_->look_at_rest([&] { services_->checkpointer->write(number, endpoint_->id(), state()); });
  last_checkpoint_ = number;
}

void Node::checkpoint(std::uint64_t number) {
  if (services_->checkpointer == nullptr || number == last_checkpoint_) return;
  save(number);
  barrier(control_);
  if (first()) services_->checkpointer->commit(number);
}

}  // namespace veche
