#pragma once

#include <optional>
#include <vector>

#include "veche/channel.h"
#include "veche/train/views/node_self.h"

namespace veche {

// Notes how the step under way is to be made, so that it can be completed when the view ends in it. Before
// the step begins, and when a view begins with a gradient that was kept.
void note_step(NodeSelf& self, const TrainingPlan& plan, std::size_t replica);

// A step that other stages have made and no node of this stage: its nodes make it of the gradients that they
// have kept, by the same rule as the strategy.
struct TornStep {
  struct Kept {
    std::uint64_t samples = 0;  // the gradient's weight in a mean over samples
    double scale = 0;           // by which its replica clips it; 0: nobody knows
  };
  std::vector<std::optional<Kept>> kept;  // by node of the stage
  double rate = 0;                        // as the other stages had it ..
  double scale = 0;                       // .. and by what they scaled the mean; 0: nobody knows
};
// Collective over the nodes of a stage. `makes_it`: this node has the state before the step.
void complete_together(NodeSelf& self, Channel& peers, const TrainingPlan& plan, const TornStep& step,
                       bool makes_it);

}  // namespace veche
