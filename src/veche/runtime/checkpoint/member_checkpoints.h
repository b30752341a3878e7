#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "veche/report.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/train/views/staged_part.h"

namespace veche {

// The checkpoints of a member of a grid. Nodes are numbered from 0, whatever their seats are, and
// view.json says from which view the last checkpoint is. For a model in stages the files are the
// stages of the member's replica, and stage/ holds the stage that the member had when it left
// without the others.
class MemberCheckpoints : public Checkpointer {
 public:
  // Both outlive it. `staged` is null where every node has the whole model.
  MemberCheckpoints(const RunFolder& folder, int nodes, const StagedPart* staged);

  void enter(std::uint64_t view, int nodes, NodeId first);
  void count_epochs(const RunInfo& info) { info_ = info; }
  void write(std::uint64_t number, NodeId node, const NodeState& state) override;
  void commit(std::uint64_t number) override;
  CheckpointStore& store() { return store_; }
  // Passes over the data that had been made at the checkpoint of this step; nothing: view.json does
  // not say.
  std::optional<double> epochs(std::uint64_t step) const;
  NodeId seat(std::size_t index) const { return NodeId{first_ + static_cast<int>(index)}; }

  // For a model in stages: the stage that this member had; none: nothing was saved yet. Throws
  // RequestError where view.json is damaged.
  std::optional<int> stage() const;
  // Saves this member's stage without the others.
  void write_stage(MemberState& self);
  // Reads the newest checkpoint of this stage into `state`; false: there is none. Calls `warn` for
  // damaged ones and sets them aside. Throws RequestError where all are damaged.
  bool read_stage(int stage, NodeState& state, const CheckpointStore::Warn& warn);
  // The newest checkpoint of nodes with whole models, in the same way.
  std::optional<std::uint64_t> newest(const CheckpointStore::Warn& warn);

 private:
  std::filesystem::path view_file() const { return folder_.path() / "view.json"; }
  void tell_view(std::uint64_t step) const;
  [[noreturn]] void refuse(const std::vector<DamagedPiece>& damaged) const;
  nlohmann::json read_view() const;

  const RunFolder& folder_;
  CheckpointStore store_, alone_;
  const StagedPart* const staged_;
  std::uint64_t view_ = 0;
  int nodes_ = 0;
  int first_ = 0;  // seat of the first node of this process
  RunInfo info_;   // how epochs are counted
};

}  // namespace veche
