#pragma once

#include "veche/train/node_work.h"

namespace veche {

// Nobody is waited for between start and finish: node 0's clerk counts, and orders what must be done by all.
Evaluation run_at_own_pace(NodeWork& work);

}  // namespace veche
