#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "veche/learner.h"
#include "veche/node_id.h"
#include "veche/runtime/run_folder.h"

namespace veche {

// Keeps in the run's folder which number of a checkpoint is which tensor's, so that neither the model nor its
// data are needed to read one.
void write_layout(const RunFolder& run, const std::string& model, const std::vector<TensorLayout>& parameters,
                  const std::vector<TensorLayout>& buffers);

struct ExportRequest {
  std::filesystem::path run;
  std::filesystem::path out;
  // Of a model in stages a replica. None: the mean over the nodes that train, which evaluations call the
  // average model, to the bit.
  std::optional<NodeId> node = {};
  std::string version;  // of the program, for the file's metadata
};

struct ExportResult {
  std::uint64_t step = 0;
  int nodes = 0;  // whose average it is
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notices = {};  // sentences about newer checkpoints, damaged and passed over
};

// Writes the newest whole checkpoint as safetensors. Throws RequestError when the run, the node or the place
// is wrong, before anything is written; what fails leaves the place as it was.
ExportResult export_model(const ExportRequest& request);

}  // namespace veche
