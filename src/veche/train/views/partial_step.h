#pragma once

#include <optional>
#include <vector>

#include "veche/channel.h"
#include "veche/train/views/member_state.h"

namespace veche {

// Records how to make the next step, so that other nodes can complete it if the view ends within
// it. Called before each step, and when a view begins with a kept gradient.
void note_step(MemberState& self, const TrainingPlan& plan, std::size_t replica);

// A step that other stages have made and no node of this stage has. The nodes of this stage make it
// from their kept gradients, by the same rule as the strategy.
struct PartialStep {
  struct Kept {
    std::uint64_t samples = 0;  // the gradient's weight in a mean over samples
    double scale = 0;           // clipping factor of its replica; 0: not known
  };
  std::vector<std::optional<Kept>> kept;  // by node of the stage
  double rate = 0;                        // of the other stages ..
  double scale = 0;                       // .. and their clipping factor of the mean; 0: it is not clipped
};
// Collective over the nodes of a stage. `makes_it`: this node has the state before the step.
void complete_together(MemberState& self, Channel& peers, const TrainingPlan& plan, const PartialStep& step,
                       bool makes_it);

}  // namespace veche
