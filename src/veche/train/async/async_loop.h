#pragma once

#include "veche/train/loop/node.h"

namespace veche {

// The training loop of asynchronous strategies: nobody is waited for between start and finish. Node 0's
// coordinator counts, and orders what must be done by all.
Evaluation run_async(Node& node);

}  // namespace veche
