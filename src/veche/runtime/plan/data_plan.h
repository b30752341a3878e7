#pragma once

#include "veche/config.h"
#include "veche/data/division/node_folders.h"
#include "veche/runtime/plan/node_speeds.h"
#include "veche/runtime/plan/run_plan.h"

namespace veche {

// Tokens of a text that the model sees at a time.
int context_of(const ModelSettings& model);

// Opens the data set of [data]; empty where the model brings its own data. `processes`: see
// OpenOptions.
// Opens the data set of [data]; empty where the model brings its own data.
NodeFolders open_source(const Settings& settings, OpenOptions how);

// The part of the samples that nodes exchange before each epoch: data.shuffle.
double choose_shuffle(const Settings& settings);

// Which node trains on which samples. `view` is null in a run of fixed nodes.
DataPlan plan_data(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders,
                   const NodesInView* view);

}  // namespace veche
