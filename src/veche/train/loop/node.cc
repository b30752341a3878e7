#include "veche/train/loop/node.h"

#include <algorithm>
#include <cmath>

#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/train/async/async_loop.h"
#include "veche/train/loop/loop.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

NodeState joined(NodeState state, SavedState strategys) {
  state.vectors.insert(state.vectors.end(), strategys.vectors.begin(), strategys.vectors.end());
  state.numbers = std::move(strategys.numbers);
  return state;
}

}  // namespace

Node::Node(std::unique_ptr<Endpoint> endpoint, NodeSelf self, const TrainingPlan& plan, MessagePool pool)
    : plan_(plan),
      endpoint_(std::move(endpoint)),
      pool_(std::move(pool)),
      self_(std::move(self)),
      pipeline_(plan.pipeline ? std::make_unique<Pipeline>(*endpoint_, pool_, timeout_,
                                                           dynamic_cast<Stage&>(*self_.learner),
                                                           *plan.pipeline, traced())
                              : nullptr) {
  if (plan.keeps_work()) keeper_.emplace(*self_.learner, self_.work.gradient);
  Learner& learner = keeper_ ? *keeper_ : *self_.learner;
  std::unique_ptr<Strategy> strategy = plan.strategy.make(
      {.channel = talk_,
       .learner = learner,
       .optimizer = *self_.optimizer,
       .learning_rate = [&plan](std::uint64_t step) { return plan.schedule.rate(step); },
       .make_optimizer =
           [&plan, &learner](std::size_t from, std::size_t length) {
             return make_optimizer(plan.optimizer_options,
                                   layers_of(learner, learner.parameters().subspan(from, length)));
           },
       .topology = plan.topology,
       .samples = plan.samples,
       .mix_every = plan.mix_every,
       .options = plan.strategy_options,
       .seed = plan.seed,
       .limit_gradient = [this] { limit_gradient(); },
       .compression = plan.compression ? &*plan.compression : nullptr});
  if (traced() != nullptr) talk_.on_wait([this](Time took) { trace_.span("wait", now() - took, now()); });
  if (strategy == nullptr)
    throw RequestError("strategy.name = \"" + plan.strategy.name +
                       "\": the program that registered it made none");
  strategy_.emplace(std::move(strategy));
  if (plan.in_view && plan.async()) {
    strategy_->start_alone();
    if (AsyncServer* server = strategy_->async_server())
      server->resume_at(schedule_step(), std::move(self_.unpushed));
  }
  talk_.set_sent(self_.sent);
  if (pipeline_) pipeline_->set_sent(self_.activations);
  const std::vector<std::span<float>> common =
      self_.common.empty() ? std::vector<std::span<float>>{} : strategy_->state().vectors;
  for (std::size_t i = 0; i < common.size() && i < self_.common.size(); ++i)
    if (common[i].size() == self_.common[i].size()) std::ranges::copy(self_.common[i], common[i].begin());
}

NodeSelf Node::leave_view() {
  loader_.reset();
  self_.sent = talk_.sent();
  if (pipeline_) self_.activations = pipeline_->sent();
  if (plan_.async()) {
    strategy_->look_at_rest([] {});  // where the model is not the learner's, it is now
    if (AsyncServer* server = strategy_->async_server())
      self_.unpushed = server->put_back(self_.learner->parameters());
  }
  keep_common();
  strategy_.reset();  // it refers to what goes on
  return std::move(self_);
}

NodeState Node::state(bool with_strategy) {
  if (pipeline_) self_.activations = pipeline_->sent();
  NodeState state = state_of(self_);
  state.sent = talk_.sent();
  state.trains = replica() >= plan_.idle();
  return with_strategy ? joined(std::move(state), strategy_->state()) : state;
}

std::optional<NodeState> Node::older_state() {
  ReadsOlderState* older = strategy_->reads_older_state();
  if (older == nullptr) return {};
  return joined(state(false), older->older_state());
}

void Node::take_older_state() { strategy_->reads_older_state()->take_older_state(); }

void Node::resume(const NodeState& state, std::uint64_t checkpoint) {
  self_.step = state.step;
  self_.train = state.train;
  self_.evaluated_train = state.evaluated;
  talk_.set_sent(state.sent);
  if (pipeline_) pipeline_->set_sent(self_.activations);
  self_.last_checkpoint = self_.mean_step = checkpoint;
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
                              .first_step = self_.step};
    if (plan_.strategy.one_learner) {
      plan.stands_for.clear();
      for (const Loader::Shard& shard : shards) plan.stands_for.push_back(shard.node);
    }
    exchange_.emplace(samples_, plan_.data.train, std::move(plan));
  }
  if (shards.empty() || !plan_.learns) return;
  loader_.emplace(exchange_ ? exchange_->data() : plan_.data.train, std::move(shards),
                  plan_.loading_of(replica(), self_.step), services_->prefetcher);
}

Evaluation Node::run(const NodeServices& services) {
  services_ = &services;
  // However it ends: the prefetcher may be gone before this node is.
  const std::unique_ptr<Node, void (*)(Node*)> closed(this, [](Node* node) { node->loader_.reset(); });
  open_data();
  self_.pruner.settle();
  if (self_.step == 0) prune();
  strategy_->start();
  lend();
  Evaluation last = plan_.async() ? run_async(*this) : run_in_step(*this);
  endpoint_->flush();
  return last;
}

void Node::check(const Score& score, std::uint64_t step) const {
  if (!std::isfinite(score.loss_sum)) diverged("loss", step);
}

void Node::check_parameters() const {
  if (!std::isfinite(squared_norm(self_.learner->parameters()))) diverged("model", self_.step);
}

void Node::diverged(const std::string& what, std::uint64_t step) const {
  throw Diverged("the " + what + " of node " + std::to_string(me()) + " is not a number at step " +
                 std::to_string(step) + ": lower optimizer.lr, or bound the gradient with optimizer.clip");
}

void Node::finish() {
  if (!plan_.keeps_work()) return strategy_->finish();
  const std::span<float> x = self_.learner->parameters();
  const std::vector<float> before(x.begin(), x.end());
  try {
    strategy_->finish();
  } catch (...) {
    std::ranges::copy(before, x.begin());
    throw;
  }
}

// What a strategy keeps is about the others of this view.
void Node::save(std::uint64_t number) {
  check_parameters();
  strategy_->look_at_rest(
      [&] { services_->checkpointer->write(number, endpoint_->id(), state(!plan_.in_view)); });
  if (!plan_.in_view) self_.last_checkpoint = number;
}

void Node::checkpoint(std::uint64_t number) {
  if (services_->checkpointer == nullptr || number == self_.last_checkpoint) return;
  // Who was left alone by others that had no common steps is behind the number that they agreed on last.
  const std::uint64_t kept = number < self_.newest_checkpoint ? self_.newest_checkpoint + 1 : number;
  save(kept);
  barrier(control_);
  self_.last_checkpoint = number;
  self_.newest_checkpoint = kept;
  if (plan_.in_view ? endpoint_->id() == services_->speaker : first()) services_->checkpointer->commit(kept);
}

}  // namespace veche
