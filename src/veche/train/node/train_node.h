#pragma once

#include "veche/report.h"
#include "veche/train/loop/node_parts.h"
#include "veche/train/loop/step.h"

namespace veche {

// A node's part of a run, from its first batch to its last measurement, in the loop that the
// strategy's pace asks for. Returns the last evaluation.
Evaluation train_node(const NodeParts& node, TrainingStep& step, const BatchFeed& feed);

}  // namespace veche
