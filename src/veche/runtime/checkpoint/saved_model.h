#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/data/sets/source.h"
#include "veche/learner.h"
#include "veche/node_id.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/inference/model_input.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {

// Which number of a checkpoint is which tensor's, and what the model sees: kept in the run's folder, so that
// neither the model nor its data are needed to read a checkpoint. Also on which machine that was, for
// reports.
struct RunLayout {
  std::string model;
  std::vector<TensorLayout> parameters;
  std::vector<TensorLayout> buffers;
  std::optional<ModelInput> input = {};  // none: the learner brought its own data, or an older Veche wrote it
};

void write_layout(const RunFolder& run, const std::string& model, const std::vector<TensorLayout>& parameters,
                  const std::vector<TensorLayout>& buffers, const DataSource& source);
// Throws RequestError when it is missing, damaged or not of this model.
RunLayout layout_for(const RunFolder& run, const SavedModel& model);

// One section of the run's config.toml, as it stands there; empty: it has none. The others may name what only
// the program knows that made the run.
std::string config_section(const RunFolder& run, const std::string& name);
// [model] without what has to do with the start of the run or the machine that it ran on.
std::string portable_model_keys(const RunFolder& run);

struct FoundModel {
  std::uint64_t step = 0;
  int nodes = 0;   // whose models it has; of models in stages, replicas
  int stages = 1;  // nodes that each of them is of
  SavedModel model;
  std::vector<std::string> notices = {};  // sentences about newer checkpoints, damaged and passed over
};

// The newest whole checkpoint of a run that may be going on. `node`: none is the mean over the nodes that
// train, which evaluations call the average model, to the bit; of a model in stages it is a replica. Throws
// RequestError: there is none, or no such node.
FoundModel newest_model(const RunFolder& run, const std::optional<NodeId>& node);
// Empty, or how many of a model's numbers are NaN or infinite, as the rest of a sentence about it.
std::string not_finite(std::span<const float> parameters, std::span<const float> buffers);
// For people: "node 2", "the average of 4 nodes".
std::string who_of(const std::optional<NodeId>& node, int averaged, int stages);

}  // namespace veche
