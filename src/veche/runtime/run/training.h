#pragma once

#include "veche/run.h"
#include "veche/runtime/run/request.h"
#include "veche/train/loop/diverged.h"

namespace veche {

// Trains with a fixed number of nodes: threads, the ranks of a job, or nodes in virtual time.
// Checks the whole request before it writes anything: RequestError. A failure while it trains is a
// RunError, and what was saved before stays.
RunResult run_training(const TrainingRequest& request);

}  // namespace veche
