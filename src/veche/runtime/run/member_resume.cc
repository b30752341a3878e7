#include "veche/runtime/run/member_resume.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/errors.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

// Whether the run starts with this member: no other member was ever in its view, which has saved no
// step.
bool founded_alone(const grid::Grid& grid) {
  const grid::Status status = grid.status();
  return status.view > 0 && status.first_step == 0 &&
         std::ranges::all_of(status.members, [&](const grid::MemberStatus& one) {
           return one.seat < 0 || one.member.id == grid.me();
         });
}

std::optional<EpochCount> known_epochs(const MemberNodes& nodes, const MemberCheckpoints& checkpoints) {
  const std::uint64_t step = nodes.first_self().step;
  if (const auto epochs = checkpoints.epochs(step)) return EpochCount{step, *epochs};
  return {};
}

void take_counters(MemberState& self, const NodeState& state) {
  self.step = self.last_checkpoint = self.last_evaluation = self.mean_step = state.step;
  self.train = state.train;
  self.evaluated_train = state.evaluated;
  self.sent = state.sent;
}

std::optional<EpochCount> resume_without_checkpoint(MemberNodes& nodes, TrainingSession& session) {
  nodes.discard_state();
  session.notice(session.folder()->path().string() +
                 " has no checkpoint yet: fetches the state from other members");
  return {};
}

std::optional<EpochCount> resume_stage(MemberNodes& nodes, MemberCheckpoints& checkpoints,
                                       TrainingSession& session, const CheckpointStore::Warn& warn) {
  MemberState& self = nodes.first_self();
  if (const std::optional<int> stage = checkpoints.stage()) {
    nodes.stages()->hold(self, *stage);
    NodeState state = state_of(self);
    if (checkpoints.read_stage(*stage, state, warn)) {
      take_counters(self, state);
      return known_epochs(nodes, checkpoints);
    }
  }
  return resume_without_checkpoint(nodes, session);
}

}  // namespace

std::optional<EpochCount> resume_member(const grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes,
                                        MemberCheckpoints& checkpoints, TrainingSession& session) {
  const auto warn = [&](const DamagedPiece& piece) { session.notice(piece.sentence()); };
  if (plan.in_stages()) return resume_stage(nodes, checkpoints, session, warn);
  const CheckpointStore& store = checkpoints.store();
  const auto step = checkpoints.newest(warn);
  if (!step && founded_alone(grid)) return EpochCount{};
  if (!step) return resume_without_checkpoint(nodes, session);
  if (const int saved = store.nodes_at(*step); saved != plan.nodes_here())
    throw RequestError(fmt::format("{} was saved by {} nodes of this member: give cluster.nodes={}",
                                   session.folder()->path().string(), saved, saved));
  // The file does not hold what an outer optimiser has in common with other members.
  const bool whole = !find_strategy(plan.settings().strategy.name).common_state(plan.settings().strategy);
  for (std::size_t i = 0; i < nodes.all().size(); ++i) {
    MemberState& self = nodes.all()[i]->self();
    self.has_state = whole;
    NodeState state = state_of(self);
    store.read(*step, NodeId{static_cast<int>(i)}, state);
    take_counters(self, state);
  }
  return known_epochs(nodes, checkpoints);
}

void save_member(const MemberNodes& nodes, MemberCheckpoints& checkpoints) {
  if (nodes.stages() != nullptr) return checkpoints.write_stage(nodes.first_self());
  std::uint64_t step = 0;
  for (const auto& part : nodes.all()) {
    if (!part->self().has_state || part->self().learner == nullptr) return;
    step = std::max(step, part->self().step);
  }
  if (step == 0 || std::ranges::all_of(
                       nodes.all(), [&](const auto& part) { return part->self().last_checkpoint == step; }))
    return;
  for (std::size_t i = 0; i < nodes.all().size(); ++i)
    checkpoints.write(step, checkpoints.seat(i), state_of(nodes.all()[i]->self()));
  checkpoints.commit(step);
}

}  // namespace veche
