#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "veche/config.h"

namespace veche {

// The parts of Config::resolve that look at more than one key. Each throws RequestError.

// model.file and model.name agree; a file alone means "torchscript".
void settle_model_name(Settings& settings, bool name_given);
// Lengths of names and paths that file systems refuse.
void check_run_names(const RunSettings& run);
// Keys of [model] that contradict model.start.
void check_model_start(const ModelSettings& model);
// Exactly one of run.epochs and run.steps is set afterwards.
void settle_length(Settings& settings);
// Defaults of [optimizer] that follow from its name and from the data. `given`: whether the section
// has this key.
void settle_optimizer(Settings& settings, const std::function<bool(const char* key)>& given);
void check_batch(const Settings& settings);
// The number of nodes that follows from the graph or from the quadratic's lists.
std::optional<std::int64_t> implied_nodes(const Settings& settings);
// The micro-batches of a batch where pipeline.micro_batches is not given: four per stage, as far as
// the batch has samples.
std::int64_t usual_micro_batches(std::int64_t stages, std::int64_t batch);
// Micro-batches and nodes follow from the number of stages unless they are given.
void settle_pipeline(Settings& settings, bool micro_batches_given, bool nodes_given);
// Addresses and times of [grid].
void check_grid(const GridSettings& grid);

}  // namespace veche
