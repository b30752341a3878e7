#pragma once

#include "veche/report.h"
#include "veche/train/loop/node_parts.h"

namespace veche {

// The training loop of nodes in step: all make the same steps, and stop, measure and save after the
// same one.
Evaluation run_in_step(const LoopParts& loop);

}  // namespace veche
