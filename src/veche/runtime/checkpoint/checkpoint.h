#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veche/train/loop/checkpointer.h"

namespace veche {

// A model from a checkpoint: of one node, or the average of several.
struct SavedModel {
  std::vector<float> parameters;
  std::vector<float> buffers;
  int nodes = 1;  // how many nodes it is the average of
};

// A damaged file, which makes its checkpoint unusable.
struct DamagedPiece {
  std::uint64_t step = 0;  // of the checkpoint
  std::filesystem::path file;
  std::string why;  // "its checksum is wrong"
  std::string sentence() const;
};

// For a run that is to be resumed and has only damaged checkpoints: its user must decide whether to
// start again, as `remedy` says. Throws a RequestError that says what is wrong with each file.
[[noreturn]] void refuse_damaged(const std::vector<DamagedPiece>& damaged, const std::string& remedy);

// Checkpoints in a folder: step-K/ with one file per node. A checkpoint gets its name only when all
// its files are synced, so a kill at any moment leaves the earlier checkpoints intact. The last two
// are kept. The format is in docs/checkpoints.md.
class CheckpointStore : public Checkpointer {
 public:
  using Warn = std::function<void(const DamagedPiece&)>;

  // `run` is the run's id, which the files contain; 0: unknown.
  CheckpointStore(std::filesystem::path folder, int nodes, std::uint64_t run = 0);
  // The checkpoints that a run has left; the number of nodes is that of the files.
  static CheckpointStore of_run(const std::filesystem::path& folder, std::uint64_t run);
  // Files written from now on contain this id.
  void set_run(std::uint64_t run) { run_ = run; }
  int nodes() const { return nodes_; }

  void write(std::uint64_t step, NodeId node, const NodeState& state) override;
  void commit(std::uint64_t step) override;

  // Removes what a killed run had no time to remove: unfinished checkpoints and all but the last
  // two finished ones. Damaged ones count: set them aside first. No node may be writing.
  void remove_leftovers() const;

  // The step of the newest checkpoint, damaged or not.
  std::optional<std::uint64_t> latest() const;
  // The newest checkpoint whose files are all undamaged and belong together. Calls `warn` with what
  // is wrong with each newer one.
  std::optional<std::uint64_t> newest(const Warn& warn) const;
  // Renames the damaged checkpoints to damaged-step-K, so that they are not removed. Returns the
  // new paths.
  std::vector<std::filesystem::path> set_aside(const std::vector<DamagedPiece>& damaged) const;
  // The id of the run that saved the checkpoint; 0: the file does not contain one.
  std::uint64_t run_at(std::uint64_t step) const;
  // Reads a node's file into the vectors and numbers of `state`. Throws RequestError where their
  // count or sizes differ: the file is of another model. A file of an older version of Veche has no
  // numbers; they then keep their values.
  void read(std::uint64_t step, NodeId node, NodeState& state) const;
  // The model of one replica, which each of `stages` nodes has a part of.
  SavedModel read_model(std::uint64_t step, NodeId replica, int stages = 1) const;
  // The number of nodes that saved the checkpoint.
  int nodes_at(std::uint64_t step) const;
  // The lengths of the parts, one per stage, in which a model of `parameters` numbers was saved.
  // Throws RequestError where the checkpoint is of another model.
  std::vector<std::size_t> parts_at(std::uint64_t step, std::size_t parameters) const;

  // Where a stage's vectors start in those of the whole model.
  struct Place {
    std::size_t parameter = 0;
    std::size_t buffer = 0;
  };
  // Reads the average over the replicas that train, each saved in `stages` parts, into the vectors
  // of `state`: as many of the first vectors as `state` has, or the part of them that starts at
  // `place`. The step is the mean of their steps; counters are not read. Returns the number of
  // replicas.
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

  void remove_all_but_newest() const;
  std::vector<DamagedPiece> damage_at(std::uint64_t step) const;

  const std::filesystem::path folder_;
  const int nodes_;
  std::uint64_t run_;
};

}  // namespace veche
