#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "veche/node_id.h"

namespace veche {

struct ExportRequest {
  std::filesystem::path run;  // its folder; for export_onnx also a file that export_model has written
  std::filesystem::path out;
  // For a model in stages, a replica. None: the mean over the nodes that train, to the bit the one
  // that evaluations call the average model.
  std::optional<NodeId> node = {};
  std::string version;  // of the program, for the file's metadata
};

struct ExportResult {
  std::uint64_t step = 0;
  std::string who = {};  // "the average of 4 nodes", "node 2"
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notices = {};  // sentences about newer checkpoints, damaged and passed over
};

// Metadata keys of the file, from which `veche predict` rebuilds the model.
inline constexpr char kModelKeys[] = "veche.model";   // the section [model] of the run, as TOML
inline constexpr char kModelInput[] = "veche.input";  // its input (model_input.h), as JSON

// Writes the newest undamaged checkpoint as safetensors. Throws RequestError where the run, the
// node or the path is wrong, before anything is written. A failure leaves an existing file as it
// was.
ExportResult export_model(const ExportRequest& request);

// The same as ONNX: from pixels (where the run normalised any) to logits, for batches of any size.
// Throws RequestError also for a model that ONNX cannot express.
ExportResult export_onnx(const ExportRequest& request);

}  // namespace veche
