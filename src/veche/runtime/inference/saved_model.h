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

// layout.json: which part of a checkpoint's vectors is which tensor, and what the input of the
// model is. With it a checkpoint can be read without the model's code and without the data.
struct RunLayout {
  std::string model;
  std::vector<TensorLayout> parameters;
  std::vector<TensorLayout> buffers;
  std::optional<ModelInput> input = {};  // none: the learner brings its own data, or an older Veche wrote it
};

// The file also says on which machine the run was made, for reports.
void write_layout(const RunFolder& run, const std::string& model, const std::vector<TensorLayout>& parameters,
                  const std::vector<TensorLayout>& buffers, const DataSource& source);
// The vocabulary of a run on a text, as packed_tokenizer gives it; empty: it has none, or no
// layout.
std::string vocabulary_of(const RunFolder& run);
// Throws RequestError where the layout is missing, damaged or of another model.
RunLayout layout_for(const RunFolder& run, const SavedModel& model);

// The scheme of the table that the run was trained on; null: its data are no table, or the run has
// not begun.
std::shared_ptr<const TableScheme> saved_scheme(const std::filesystem::path& run);

// The text of one section of the run's config.toml; empty: there is none. The other sections are
// not read, since they may name things that only the program knows that made the run.
std::string config_section(const RunFolder& run, const std::string& name);
// The [model] section without the keys about the start of the run and about its machine.
std::string portable_model_keys(const RunFolder& run);

struct FoundModel {
  std::uint64_t step = 0;
  int nodes = 0;   // that have a model in it; for a model in stages, replicas
  int stages = 1;  // of each model
  SavedModel model;
  std::vector<std::string> notices = {};  // sentences about newer checkpoints, damaged and passed over
};

// Reads the newest undamaged checkpoint of a run, which may still be training. Without `node` the
// model is the mean over the nodes that train, to the bit the one that evaluations call the average
// model. For a model in stages `node` is a replica. Throws RequestError where there is no
// checkpoint or no such node.
FoundModel newest_model(const RunFolder& run, const std::optional<NodeId>& node);
// Says how many numbers of a model are NaN or infinite, as the rest of a sentence about it; empty:
// none.
std::string not_finite(std::span<const float> parameters, std::span<const float> buffers);
// For people: "node 2", "the average of 4 nodes".
std::string who_of(const std::optional<NodeId>& node, int averaged, int stages);

}  // namespace veche
