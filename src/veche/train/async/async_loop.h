#pragma once

#include "veche/report.h"
#include "veche/train/loop/node_parts.h"

namespace veche {

// The training loop of asynchronous strategies: between start and finish no node waits for another.
// The coordinator, a helper of node 0, counts steps and orders what all nodes must do.
Evaluation run_async(const LoopParts& loop);

}  // namespace veche
