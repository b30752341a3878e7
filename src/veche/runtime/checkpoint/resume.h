#pragma once

#include <memory>
#include <span>

#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/train/node/node.h"

namespace veche {

// Restores the nodes of this process from a checkpoint and returns the step they continue from.
// Where another number of nodes or stages saved the checkpoint, all continue from its averaged
// model.
std::uint64_t resume(std::span<const std::unique_ptr<Node>> nodes, const CheckpointStore& store,
                     std::uint64_t checkpoint, const RunPlan& plan);

}  // namespace veche
