#pragma once

#include "veche/train/loop/node.h"

namespace veche {

// The one training loop, where all nodes make the same steps, and stop, measure and save after the same one.
Evaluation run_in_step(Node& node);

}  // namespace veche
