#include "veche/train/views/staged_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "veche/collectives.h"
#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/train/measure/measure.h"
#include "veche/train/optim/model_step.h"
#include "veche/train/views/partial_step.h"
#include "veche/train/views/run_end_message.h"
#include "veche/train/views/view_start.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr Time kInterruptCheck{0.2};  // of a node that waits

// What all nodes that train must agree on; each stage has found its own answer.
struct Due {
  std::uint32_t evaluation = 0, checkpoint = 0, not_saved = 0, reached_target = 0;
};

template <std::size_t N>
std::array<char, N> word_of(const std::string& text) {
  std::array<char, N> word = {};
  std::copy_n(text.begin(), std::min(text.size(), N - 1), word.begin());
  return word;
}

std::vector<NodeId> every(int first, int step, int count) {
  std::vector<NodeId> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(NodeId{first + i * step});
  return nodes;
}

}  // namespace

void StagedPart::call(std::uint64_t member, std::string name) {
  member_ = member;
  name_ = std::move(name);
}

void StagedPart::hold(MemberState& self, int stage) {
  self.learner.reset();  // before the other takes its memory
  self = make_(stage);
  stage_ = stage;
}

// The same as in the last view if the replica is the same.
std::uint64_t StagedPart::unit_of(int place, std::uint64_t view) const {
  if (place < 0) return 0;
  const int first = place / stages_ * stages_;
  bool whole = at(first).unit != 0;
  for (int other = first; other < first + stages_; ++other)
    whole = whole && has_its_stage(other) && at(other).unit == at(first).unit;
  constexpr int kReplicaBits = 24;
  return whole ? at(first).unit : (view << kReplicaBits) + static_cast<std::uint64_t>(place / stages_) + 1;
}

const Roles& StagedPart::take_role(MemberState& self, Channel& channel, std::uint64_t view) {
  Channel talk = channel.child(tags::kRolesTaken);
  const HeldStage mine{.member = member_,
                       .name = word_of<24>(name_),
                       .stage = self.has_state ? stage_ : -1,
                       .has_work = self.work.there ? 1U : 0U,
                       .has_samples = self.work.there && self.work.has_samples ? 1U : 0U,
                       .has_state = self.has_state ? 1U : 0U,
                       .step = self.has_state ? self.step : 0,
                       .unit = self.has_state ? unit_ : 0,
                       .samples = self.work.samples,
                       .rate = self.work.rate,
                       .scale = self.work.scale,
                       .made_scale = self.made_scale,
                       .squares = self.work.there ? squared_norm(take_kept_gradient(self)) : 0};
  const Gathered<HeldStage> gathered(talk, mine);
  held_.assign(gathered.all().begin(), gathered.all().end());
  for (const HeldStage& one : held_)
    if (one.stage < -1 || one.stage >= stages_)
      throw RunError(fmt::format("a member says that it has stage {} of {}", one.stage, stages_));
  roles_ = assign_roles(held_, stages_);
  notice_ = told_of_roles(before_, held_, roles_);
  place_ = roles_.place_of(channel.me());
  unit_ = unit_of(place_, view);
  before_.clear();
  for (int place = 0; place < static_cast<int>(roles_.nodes.size()); ++place)
    before_.push_back({at(place).member, at(place).called(), place / stages_, place % stages_});
  if (place_ < 0) {
    if (!roles_.nodes.empty())
      notice_ += fmt::format("{}this member waits until there are enough members for another replica",
                             notice_.empty() ? "" : "; ");
    self.work.forget();
    // The run is beyond its first step: a node that never took part has no state.
    if (self.step == 0 && roles_.first_step > 0) self.has_state = false;
  }
  return roles_;
}

StagedPart::Work StagedPart::work_of(int place, bool equal) const {
  const HeldStage& mine = at(place);
  if (!has_its_stage(place) || mine.has_work == 0) return Work::forget;
  const int first = place / stages_ * stages_;
  bool all_keep = true, others_made_it = true;
  for (int other = first; other < first + stages_; ++other) {
    const HeldStage& one = at(other);
    const bool same = has_its_stage(other) && one.step == mine.step && one.has_work != 0;
    all_keep = all_keep && same && one.unit == mine.unit && mine.unit != 0;
    others_made_it = others_made_it && (same || (has_its_stage(other) && one.step > mine.step));
  }
  if (mine.step == roles_.first_step) return all_keep ? Work::keep : Work::forget;
  if (!equal) return others_made_it ? Work::finish : Work::forget;
  // Equal models: a node of its stage that has made the step gives the result to the others.
  for (int peer = place % stages_; peer < static_cast<int>(roles_.nodes.size()); peer += stages_)
    if (has_its_stage(peer) && at(peer).step > mine.step) return Work::forget;
  return mine.step + 1 == roles_.first_step ? Work::finish : Work::forget;
}

double StagedPart::scale_of_mean(std::uint64_t step) const {
  for (const HeldStage& one : held_)
    if (one.has_state != 0 && one.step == step + 1 && one.made_scale > 0) return one.made_scale;
  return 0;
}

// A node that has not made the step may know the factor too. If no node knows it, another replica
// made the step before this one had added up its norm: the norm is added up now, from the stages
// that are present.
double StagedPart::scale_of_replica(std::uint64_t step, int place, double clip) const {
  double squares = 0;
  bool any = false;
  for (const HeldStage& one : held_) {
    if (one.has_state == 0 || one.unit != at(place).unit || one.unit == 0) continue;
    if (one.step == step + 1 && one.made_scale > 0) return one.made_scale;
    if (one.step != step || one.has_work == 0) continue;
    if (one.scale > 0) return one.scale;
    squares += one.squares;
    any = true;
  }
  return any ? clip_scale(clip, squares) : 0;
}

// Completes a step that another stage has made and no node of this stage has.
std::string StagedPart::complete_step(MemberState& self, Channel& peers, const TrainingPlan& plan) {
  const bool equal = equal_models(plan);
  const Work work = work_of(place_, equal);
  if (work == Work::forget) self.work.forget();
  if (!equal) {
    if (!has_its_stage(place_) || self.step >= roles_.first_step) return {};
    self.work.scale = scale_of_replica(self.step, place_, plan.clip);
    finish_alone(self, plan);
    self.made_scale = self.work.scale;
    self.step = roles_.first_step;
    return {};
  }
  const bool served = plan.replicas() == Replicas::served;
  std::uint64_t furthest = 0;
  PartialStep partial;
  bool any = false;
  for (int peer = place_ % stages_; peer < static_cast<int>(roles_.nodes.size()); peer += stages_) {
    partial.kept.emplace_back();
    if (!has_its_stage(peer)) continue;
    furthest = std::max(furthest, at(peer).step);
    if (work_of(peer, equal) != Work::finish) continue;
    partial.kept.back() =
        PartialStep::Kept{at(peer).samples, served ? scale_of_replica(at(peer).step, peer, plan.clip) : 0};
    partial.rate = at(peer).rate;
    any = true;
  }
  const std::uint64_t made = roles_.first_step - 1;
  const double made_scale = served ? scale_of_replica(made, place_, plan.clip) : scale_of_mean(made);
  if (furthest >= roles_.first_step) {
    if (!has_its_stage(place_) || self.step < roles_.first_step) self.made_scale = made_scale;
    return {};
  }
  partial.scale = served ? 0 : made_scale;
  const bool makes_it = has_its_stage(place_) && at(place_).step == furthest;
  // The nodes that made the step may have come back from their folders, which do not hold the
  // factor. The norm of this stage alone would give another.
  const bool unknown_clip = any && !served && plan.clip > 0 && made_scale == 0;
  if (any && !unknown_clip) complete_together(self, peers, plan, partial, makes_it);
  self.made_scale = made_scale;
  if (!makes_it) return {};
  self.work.forget();
  self.step = roles_.first_step;
  if (unknown_clip)
    return fmt::format(
        "stage {} leaves out step {}: nobody here knows any more how the others clipped its gradient", stage_,
        roles_.first_step);
  return furthest + 1 < roles_.first_step
             ? fmt::format("continues with stage {} from step {}, the newest state of any member", stage_,
                           furthest)
             : "";
}

std::string StagedPart::start(MemberState& self, Channel& channel, std::uint64_t view,
                              const TrainingPlan& plan) {
  const int stage = place_ % stages_;
  if (!has_its_stage(place_)) {
    if (stage != stage_) hold(self, stage);
    self.has_state = roles_.first_step == 0;
    self.is_new = true;
    self.step = 0;
  }
  const auto group = make_group(channel.endpoint, every(stage, stages_, roles_.replicas()));
  Channel completed = channel.child(tags::kCompleted, *group);
  std::string told = complete_step(self, completed, plan);
  const Gathered<NodeStatus> status(completed, status_of(self));
  const View of_stage{.number = view,
                      .first_step = roles_.first_step,
                      .status = {status.all().begin(), status.all().end()},
                      .cluster = {}};
  Channel states = channel.child(tags::kStageStates, *group);
  const std::string taken = start_view(self, states, of_stage, plan);
  told += told.empty() || taken.empty() ? taken : "; " + taken;
  Channel all = channel.child(tags::kAllStages);
  const Gathered<Due> due(all, {self.evaluates_first ? 1U : 0U, self.saves_first ? 1U : 0U,
                                self.last_checkpoint == self.step ? 0U : 1U, self.reached_target ? 1U : 0U});
  const auto any = [&](std::uint32_t Due::*what) {
    return std::ranges::any_of(due.all(), [&](const Due& one) { return one.*what != 0; });
  };
  self.evaluates_first = any(&Due::evaluation);
  self.saves_first = any(&Due::checkpoint);
  self.reached_target = any(&Due::reached_target);
  if (any(&Due::not_saved)) self.last_checkpoint = 0;
  return told;
}

std::optional<Evaluation> StagedPart::wait(MemberState& self, Endpoint& all, const TrainingPlan* last_plan,
                                           const std::atomic<bool>& interrupted) const {
  // The run has ended, and this node was cut off before it heard of it.
  if (roles_.nodes.empty() && last_plan != nullptr && self.has_state && self.step >= last_plan->steps) {
    Evaluation last;
    last.step = self.step;
    last.stopped = StopReason::steps;
    return last;
  }
  while (!interrupted) {
    const Received received =
        all.receive({}, tags::state.child(tags::kRunEnded), all.now() + kInterruptCheck);
    if (received.outcome == Received::Outcome::message)
      return end_in(received.message, fmt::format("node {}", all.known_as(received.from).value)).last;
  }
  return {};
}

void StagedPart::end(Endpoint& all, Channel& channel, const Evaluation& last) const {
  const Message word = message_of_end({last, 0}, channel.pool);
  for (int node = 0; node < all.size(); ++node)
    if (roles_.place_of(NodeId{node}) < 0) all.send(NodeId{node}, tags::state.child(tags::kRunEnded), word);
  Channel ended = channel.child(tags::kAllEnded);
  barrier(ended);
  all.flush();
}

WholeModelCheckpoints::WholeModelCheckpoints(Checkpointer& inner, Endpoint& training, const PipelinePlan& cut)
    : inner_(inner),
      cut_(cut),
      replica_(make_group(training, every(training.id().value / cut.stages * cut.stages, 1, cut.stages))),
      parts_(*replica_, pool_, timeout_, tags::state.child(tags::kParts)) {}
WholeModelCheckpoints::~WholeModelCheckpoints() = default;

void WholeModelCheckpoints::write(std::uint64_t number, NodeId /*node*/, const NodeState& state) {
  const NodeId me = replica_->id();
  constexpr std::size_t kShared = 2;  // parameters and buffers, which exports need
  for (int stage = 0; stage < replica_->size(); ++stage)
    for (std::size_t i = 0; i < kShared && NodeId{stage} != me; ++i)
      parts_.send(NodeId{stage}, pool_.copy_of(std::span<const float>(state.vectors[i])));
  inner_.write(number, me, state);
  for (int stage = 0; stage < replica_->size(); ++stage) {
    if (NodeId{stage} == me) continue;
    NodeState other{.step = state.step, .train = {}, .evaluated = {}, .sent = {}};
    const std::size_t lengths[kShared] = {cut_.first_parameter(stage + 1) - cut_.first_parameter(stage),
                                          cut_.first_buffer(stage + 1) - cut_.first_buffer(stage)};
    std::vector<float> vectors[kShared];
    for (std::size_t i = 0; i < kShared; ++i) {
      const Message part = parts_.expect(NodeId{stage}, lengths[i] * sizeof(float));
      vectors[i].assign(part.as<float>().begin(), part.as<float>().end());
      other.vectors.emplace_back(vectors[i]);
    }
    inner_.write(number, NodeId{stage}, other);
  }
}

}  // namespace veche
