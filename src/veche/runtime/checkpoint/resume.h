#pragma once

#include <memory>
#include <span>

#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/train/loop/node.h"

namespace veche {

// Puts the nodes of this process where a checkpoint has left them, and tells the step they go on from. Where
// another number of nodes had saved it, all go on from its averaged model.
std::uint64_t resume(std::span<const std::unique_ptr<Node>> nodes, const CheckpointStore& store,
                     std::uint64_t checkpoint, const RunPlan& plan);

}  // namespace veche
