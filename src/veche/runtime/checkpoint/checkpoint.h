#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veche/train/loop/checkpointer.h"

namespace veche {

// What a model is, of one node's checkpoint or the average of several.
struct SavedModel {
  std::vector<float> parameters;
  std::vector<float> buffers;
  int nodes = 1;  // so many
};

// A file for which a checkpoint cannot be used.
struct DamagedPiece {
  std::uint64_t step = 0;  // of the checkpoint
  std::filesystem::path file;
  std::string why;  // "its checksum is wrong"
  std::string sentence() const;
};

// For a run that is to go on and has no whole checkpoint: to begin again is for its user to decide, in the
// way that `remedy` tells. Throws RequestError, which says what is wrong with each.
[[noreturn]] void refuse_damaged(const std::vector<DamagedPiece>& damaged, const std::string& remedy);

// Checkpoints in a folder: step-K/ with one file a node. A folder gets its name only when all its files are
// synced, so a kill at any moment leaves the ones before it. The last two are kept. The format is in
// docs/checkpoints.md.
class CheckpointStore : public Checkpointer {
 public:
  using Warn = std::function<void(const DamagedPiece&)>;

  // `run` is the run's id, which its files carry; 0: unknown.
  CheckpointStore(std::filesystem::path folder, int nodes, std::uint64_t run = 0);
  // Of a run that has left some: the number of nodes is that of the files.
  static CheckpointStore of_run(const std::filesystem::path& folder, std::uint64_t run);
  // From now on files are of this run.
  void set_run(std::uint64_t run) { run_ = run; }
  int nodes() const { return nodes_; }

  void write(std::uint64_t step, NodeId node, const NodeState& state) override;
  void commit(std::uint64_t step) override;

  // What a killed run has left half-made. Only while nobody writes.
  void remove_unfinished() const;

  // The step of the last one, whole or not.
  std::optional<std::uint64_t> latest() const;
  // The newest checkpoint all of whose files are whole and belong together. `warn` is told what is wrong with
  // each one passed over.
  std::optional<std::uint64_t> newest(const Warn& warn) const;
  // Gives the damaged checkpoints another name, damaged-step-K, under which nobody removes them. Returns
  // where they are now.
  std::vector<std::filesystem::path> set_aside(const std::vector<DamagedPiece>& damaged) const;
  // The id of the run that saved it; 0: it does not tell.
  std::uint64_t run_at(std::uint64_t step) const;
  // Fills `state` (its vectors and numbers in place, as many as it has and of the sizes they have) from that
  // checkpoint. Throws RequestError when they do not fit: the file is of another model. One of an older Veche
  // holds no numbers, which then keep their values.
  void read(std::uint64_t step, NodeId node, NodeState& state) const;
  // Whose model: of how many nodes it is.
  SavedModel read_model(std::uint64_t step, NodeId replica, int stages = 1) const;
  // How many nodes saved that checkpoint.
  int nodes_at(std::uint64_t step) const;
  // The lengths of the parts in which they saved a model of so many parameters, one a stage; RequestError
  // where it is another model.
  std::vector<std::size_t> parts_at(std::uint64_t step, std::size_t parameters) const;

  // Where a stage's vectors begin in those of the whole model.
  struct Place {
    std::size_t parameter = 0;
    std::size_t buffer = 0;
  };
  // The average over models, each of so many stages, of those that train, of the first vectors, as many as
  // `state` has, or of the part of them
  // that has this place; it gets the mean of their steps and no counters.
  // Returns how many models it is of.
  int read_average(std::uint64_t step, NodeState& state, int stages = 1,
                   std::optional<Place> place = {}) const;
  SavedModel read_average_model(std::uint64_t step, int stages = 1) const;

 private:
  std::filesystem::path file(const std::filesystem::path& step_folder, NodeId node) const;
  std::filesystem::path step_folder(std::uint64_t step) const;
  std::filesystem::path unfinished(std::uint64_t step) const;
  std::vector<int> averaged_at(std::uint64_t step, int stages) const;
  SavedModel empty_model(std::uint64_t step, int stages) const;
  std::uint64_t read_replica(std::uint64_t step, int replica, int stages, std::optional<Place> place,
                             const std::vector<std::span<float>>& vectors) const;

  std::vector<DamagedPiece> damage_at(std::uint64_t step) const;

  const std::filesystem::path folder_;
  const int nodes_;
  std::uint64_t run_;
};

}  // namespace veche
