#include "veche/train/views/view_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "veche/errors.h"
#include "veche/train/measure/measure.h"
#include "veche/train/views/partial_step.h"
#include "veche/train/views/state_donor.h"
#include "veche/train/views/state_transfer.h"

namespace veche {
namespace {

constexpr std::size_t kMostDonors = 4;

// What every node tells all others when it has its state.
struct Opening {
  std::uint64_t hash = 0;
  std::uint64_t evaluated = 0, saved = 0;  // steps
  std::uint64_t reached_target = 0;
};

Shared shared_in(const TrainingPlan& plan) { return shared_by(plan.strategy, plan.strategy_options); }

[[noreturn]] void fail_without_state() { throw RunError("no member of this view has the state of the run"); }

// Which nodes give their state and which take it: the same on every node, as all know the status of
// all.
class TransferPlan {
 public:
  TransferPlan(const View& view, Shared shared) : view_(view), shared_(shared) {
    if (shared != Shared::nothing) reference_ = most_common();
    for (int node = 0; node < view.nodes(); ++node)
      if (whole(node)) donors_.push_back(NodeId{node});
    // After a power cut all nodes come back, and the strategy's common state is gone.
    for (int node = 0; donors_.empty() && node < view.nodes(); ++node)
      if (at(node).done_step == view.first_step) donors_.push_back(NodeId{node});
    if (donors_.empty()) fail_without_state();
    for (int node = 0; node < view.nodes(); ++node)
      if (lacks(node)) takers_.push_back(NodeId{node});
  }

  // The donors of a taker: only one if models differ, since all pieces must be of one model.
  std::uint64_t reference() const { return reference_; }  // hash of what is shared; 0: nothing is
  std::vector<NodeId> donors_of(NodeId taker) const {
    const auto turn = static_cast<std::size_t>(std::ranges::find(takers_, taker) - takers_.begin());
    std::vector<NodeId> asked;
    for (std::size_t i = 0; i < std::min(shared_ == Shared::models ? kMostDonors : 1, donors_.size()); ++i)
      asked.push_back(donors_[(turn + i) % donors_.size()]);
    return asked;
  }
  bool takes(NodeId node) const { return std::ranges::find(takers_, node) != takers_.end(); }
  std::vector<NodeId> served_by(NodeId donor) const {
    std::vector<NodeId> served;
    for (const NodeId taker : takers_)
      if (std::ranges::count(donors_of(taker), donor) > 0) served.push_back(taker);
    return served;
  }
  // Nodes whose state differs though they have made the same steps: a fault of a machine or of
  // Veche.
  std::vector<int> diverged() const {
    std::vector<int> all;
    for (int node = 0; reference_ != 0 && node < view_.nodes(); ++node)
      if (at(node).done_step == view_.first_step && at(node).state_hash != 0 && !whole(node))
        all.push_back(node);
    return all;
  }

 private:
  const NodeStatus& at(int node) const { return view_.status[static_cast<std::size_t>(node)]; }
  bool whole(int node) const {
    const NodeStatus& one = at(node);
    return one.done_step == view_.first_step && one.state_hash != 0 &&
           (shared_ == Shared::nothing || one.state_hash == reference_);
  }
  bool lacks(int node) const {
    if (std::ranges::find(donors_, NodeId{node}) != donors_.end()) return false;
    if (shared_ == Shared::models) return true;
    return at(node).state_hash == 0 || (shared_ == Shared::common && at(node).state_hash != reference_);
  }
  std::uint64_t most_common() const {
    std::map<std::uint64_t, int> counts;
    for (const NodeStatus& one : view_.status)
      if (one.done_step == view_.first_step && one.state_hash != 0) ++counts[one.state_hash];
    std::uint64_t best = 0;
    for (const NodeStatus& one : view_.status)  // among equals the lowest node's
      if (counts.contains(one.state_hash) && one.done_step == view_.first_step &&
          (best == 0 || counts[one.state_hash] > counts[best]))
        best = one.state_hash;
    return best;
  }

  const View& view_;
  const Shared shared_;
  std::uint64_t reference_ = 0;
  std::vector<NodeId> donors_, takers_;
};

void agree(MemberState& self, Channel& channel, const TrainingPlan& plan) {
  const Gathered<Opening> gathered(
      channel, {state_hash(self), self.last_evaluation, self.last_checkpoint, self.reached_target ? 1U : 0U});
  const std::span<const Opening> all = gathered.all();
  if (shared_in(plan) != Shared::nothing)
    for (std::size_t node = 0; node < all.size(); ++node)
      if (all[node].hash != all.front().hash)
        throw RunError(fmt::format("nodes 0 and {} still differ in shared state at step {} after a copy",
                                   node, self.step));
  const auto due = [&](std::uint64_t every, std::uint64_t Opening::*done) {
    return every != 0 && self.step != 0 && self.step % every == 0 &&
           std::ranges::any_of(all, [&](const Opening& one) { return one.*done != self.step; });
  };
  self.evaluates_first = due(plan.evaluate_every, &Opening::evaluated);
  self.saves_first = due(plan.checkpoint_every, &Opening::saved);
  // If a node has not saved this step, all save it again: saving is collective.
  if (std::ranges::any_of(all, [&](const Opening& one) { return one.saved != self.step; }))
    self.last_checkpoint = 0;
  // A newcomer after the last step has saved nothing: all save once more before they end.
  if (self.step >= plan.steps) self.last_checkpoint = 0;
  self.reached_target = std::ranges::any_of(all, [](const Opening& one) { return one.reached_target != 0; });
}

}  // namespace

bool equal_models(const TrainingPlan& plan) { return shared_in(plan) == Shared::models; }

NodeStatus status_of(MemberState& self) { return {self.step, self.has_state ? state_hash(self) : 0}; }

std::string start_view(MemberState& self, Channel& channel, const View& view, const TrainingPlan& plan) {
  const TransferPlan transfer(view, shared_in(plan));
  const NodeId me = channel.me();
  std::string told;
  if (transfer.takes(me)) {
    const bool behind = self.has_state && !self.is_new;
    const std::vector<NodeId> donors = transfer.donors_of(me);
    const Fetched fetched = fetch_state(self, channel, donors, {view.first_step, transfer.reference()});
    self.work.forget();
    self.step = view.first_step;
    // A newcomer need not evaluate or save what was due at this step. A node that was behind must:
    // its donor may not have done so either, and may die before it does.
    if (!behind) self.last_evaluation = self.last_checkpoint = self.step;
    self.has_state = true;
    told = fetched.steps > 0
               ? fmt::format("replayed the last {} step{}", fetched.steps, fetched.steps == 1 ? "" : "s")
               : fmt::format("fetched the state of step {} from {} node{}: {} of {} pieces{}", self.step,
                             donors.size(), donors.size() == 1 ? "" : "s", fetched.pieces, fetched.of,
                             behind ? " because this node was behind" : "");
  } else {
    serve_state(self, channel, transfer.served_by(me));
    if (self.step < view.first_step) {
      finish_alone(self, plan);
      self.step = view.first_step;
    }
    if (self.is_new) self.last_evaluation = self.last_checkpoint = self.step;
    self.has_state = true;
  }
  self.is_new = false;
  for (const int node : transfer.diverged())
    told += fmt::format("{}node {} had another model than the others at step {} and copied theirs",
                        told.empty() ? "" : "; ", node, view.first_step);
  // Other nodes may complete the step of the kept gradient before this node has begun it.
  note_step(self, plan, static_cast<std::size_t>(me.value));
  agree(self, channel, plan);
  return told;
}

void continue_in_view(MemberState& self, const View& view) {
  if (std::ranges::none_of(view.status, [](const NodeStatus& one) { return one.state_hash != 0; }))
    fail_without_state();
  if (!self.has_state) throw std::logic_error("a node without a model must not continue");
  if (self.is_new) self.last_evaluation = self.last_checkpoint = self.mean_step = self.step;
  self.is_new = self.evaluates_first = self.saves_first = false;
}

}  // namespace veche
