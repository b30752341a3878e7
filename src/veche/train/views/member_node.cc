#include "veche/train/views/member_node.h"

#include <algorithm>

#include "veche/train/loop/make_strategy.h"
#include "veche/train/node/train_node.h"
#include "veche/train/views/recoverable_step.h"
#include "veche/train/views/view_membership.h"

namespace veche {
namespace {

void put_back(const std::vector<std::vector<float>>& kept, const std::vector<std::span<float>>& into) {
  for (std::size_t i = 0; i < into.size() && i < kept.size(); ++i)
    if (into[i].size() == kept[i].size()) std::ranges::copy(kept[i], into[i].begin());
}

}  // namespace

MemberNode::MemberNode(std::unique_ptr<Endpoint> endpoint, MemberState self, const TrainingPlan& plan,
                       MessagePool pool)
    : plan_(plan),
      self_(std::move(self)),
      links_(std::move(endpoint), std::move(pool), *self_.learner, plan),
      clip_(plan.clip, self_, links_.pipeline()) {
  if (!plan.async()) keeper_.emplace(*self_.learner, self_.work.gradient);
  strategy_.emplace(make_strategy(plan, links_, keeper_ ? *keeper_ : *self_.learner, self_, clip_));
  if (plan.async()) {
    strategy_->start_alone();
    if (AsyncServer* server = strategy_->async_server())
      server->resume_at(self_.schedule_step(plan.shared_steps), std::move(self_.unpushed));
  }
  links_.strategy.set_sent(self_.sent);
  if (links_.pipeline() != nullptr) links_.pipeline()->set_sent(self_.activations);
  if (!self_.common.empty() || !self_.own.empty()) {
    const DividedState::Parts parts = strategy_->divided_state();
    put_back(self_.common, parts.common);
    put_back(self_.own, parts.own);
  }
}

Evaluation MemberNode::run(const NodeServices& services) {
  ViewMembership membership(services.interrupted, self_);
  const NodeParts parts{plan_, services, links_, self_, self_, *strategy_, membership};
  BatchFeed feed(links_, plan_, self_.step, services.prefetcher);
  if (keeper_) {
    RecoverableStep step(parts, clip_, feed, self_, *keeper_);
    return train_node(parts, step, feed);
  }
  AsyncStep step(parts, clip_, feed, self_);
  return train_node(parts, step, feed);
}

MemberState MemberNode::leave_view() {
  self_.sent = links_.strategy.sent();
  if (links_.pipeline() != nullptr) self_.activations = links_.pipeline()->sent();
  if (plan_.async()) {
    strategy_->inspect([] {});  // a model that the strategy holds is copied to the learner
    if (AsyncServer* server = strategy_->async_server())
      self_.unpushed = server->put_back(self_.learner->parameters());
  }
  keep_common(self_, *strategy_, plan_);
  strategy_.reset();  // it refers to the model that goes on
  return std::move(self_);
}

}  // namespace veche
