#pragma once

#include "veche/train/loop/checkpoint_writer.h"
#include "veche/train/loop/counters.h"
#include "veche/train/loop/model_state.h"
#include "veche/train/views/recovery_state.h"

namespace veche {

// Everything of a member that outlives a view.
struct MemberState : ModelState, Counters, RecoveryState {
  MemberState(std::unique_ptr<Learner> made, const TrainingPlan& plan) : ModelState(std::move(made), plan) {}
};

// What a checkpoint holds of a member between two views.
inline NodeState state_of(MemberState& self) { return state_of(self, self); }

// Copies the kept gradient into the learner and prunes it. It is not clipped yet.
std::span<float> take_kept_gradient(MemberState& self);

// Makes the step of the kept gradient without the others: they have completed the exchange of that
// step already. Uses the learning rate, and if known the clipping factor, of the view in which the
// step began.
void finish_alone(MemberState& self, const TrainingPlan& plan);

}  // namespace veche
