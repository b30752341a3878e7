#include "veche/train/views/view_part.h"

#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/train/measure/measure.h"

namespace veche {
NodeStatus ViewPart::status() {
  NodeStatus all = status_of(self_);
  all.samples = data_.samples;
  all.has_test = data_.has_test != 0;
  return all;
}

void ViewPart::begin(Endpoint& endpoint, const View& view, const PlanOfView& plan) {
  std::vector<DataMessage> words;
  for (const NodeStatus& one : view.status) words.push_back({one.samples, one.has_test ? 1U : 0U});
  plan_ = plan(words);
  if (plan_->async()) return continue_in_view(self_, view);
  MessagePool pool = pool_;
  AdaptiveTimeout timeout;
  Channel states = Channel(endpoint, pool, timeout, tags::state).child(tags::kStates);
  notice_ = start_view(self_, states, view, *plan_);
}

void ViewPart::run(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
                   const NodeServices& services) {
  notice_.clear();
  last_.reset();
  try {
    if (on_enter) on_enter(*endpoint, view);
    if (staged_) return run_staged(std::move(endpoint), view, plan, services);
    begin(*endpoint, view, plan);
    if (on_begin && endpoint->id() == services.speaker) on_begin(*plan_, notice_);
    node_ = std::make_unique<MemberNode>(std::move(endpoint), std::move(self_), *plan_, pool_);
    last_ = node_->run(services);
  } catch (const ViewChanged&) {
    // The next view repeats the step that was cut off.
  } catch (const PeerLost&) {
    // The same: a node is lost, and the members have not agreed on that yet.
  }
}

void ViewPart::run_staged(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
                          const NodeServices& services) {
  all_ = std::move(endpoint);
  MessagePool pool = pool_;
  AdaptiveTimeout timeout;
  const Channel talk(*all_, pool, timeout, tags::state);
  Channel words = talk.child(tags::kDataMessages), states = talk.child(tags::kStates);
  const Gathered<DataMessage> data(words, data_);
  const Roles& roles = staged_->take_role(self_, states, view.number);
  if (on_roles && !staged_->told().empty()) on_roles(staged_->told());
  if (staged_->place() < 0) {
    last_ = staged_->wait(self_, *all_, plan_.get(), services.interrupted);
    return;
  }
  std::vector<DataMessage> of_roles;
  for (const NodeId node : roles.nodes) of_roles.push_back(data.all()[static_cast<std::size_t>(node.value)]);
  plan_ = plan(of_roles);
  auto training = make_group(*all_, roles.nodes);
  Channel starting(*training, pool, timeout, states.tag);
  notice_ = staged_->start(self_, starting, view.number, *plan_);
  if (on_begin) on_begin(*plan_, notice_);
  NodeServices here = services;
  here.speaker = training->id();
  std::optional<WholeModelCheckpoints> whole;
  if (services.checkpointer != nullptr)
    here.checkpointer = &whole.emplace(*services.checkpointer, *training, plan_->pipeline.value());
  node_ = std::make_unique<MemberNode>(std::move(training), std::move(self_), *plan_, pool_);
  const Evaluation last = node_->run(here);
  last_ = last;
  Channel ending(node_->endpoint(), pool, timeout, states.tag);
  if (last.stopped != StopReason::interrupted) staged_->end(*all_, ending, last);
}

void ViewPart::leave() {
  if (node_ != nullptr) self_ = node_->leave_view();
  node_.reset();
  all_.reset();
}

}  // namespace veche
