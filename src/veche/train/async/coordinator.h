#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "veche/comm/tags.h"
#include "veche/train/async/snapshot_evaluation.h"
#include "veche/train/loop/node.h"

namespace veche {

// Nodes of an asynchronous run never wait for each other, so somebody must count their steps, tell how it
// goes, test their models and say when to end: the coordinator, a helper of node 0. Nodes tell it what
// they do and obey its orders between two steps of their own; nobody waits for anybody. Of a model in stages
// the first stage is the node that this is about: it speaks for its replica, whose other stages follow it.

// Node -> coordinator (tags::to_coordinator), after the numbers of a snapshot.
struct NodeMessage {
  enum class Kind { progress, snapshot, saved } kind = Kind::progress;
  std::uint64_t steps = 0;  // of its own, in all
  std::uint64_t saved = 0;  // the last checkpoint that it has
  ProgressReport progress = {};
  NodeReport report = {};  // of a snapshot
};

// Coordinator -> node (tags::from_coordinator).
struct Order {
  enum class Kind { progress, snapshot, save, keep, stop, done } kind = Kind::progress;
  std::uint64_t step = 0;            // steps a node has made on the average; of a checkpoint, its number
  std::array<char, 24> reason = {};  // of `stop`
  Progress progress = {};            // of all, where each watches for itself
};

class Coordinator {
 public:
  // `node` is node 0.
  explicit Coordinator(Node& node);

  // Until the nodes have been told to stop and everything is put away, which it then tells node 0 (`done`).
  // Throws what ends the run: a node that is lost where no other view follows, a test sample that is damaged,
  // a checkpoint that cannot be saved.
  void run();

 private:
  void hear(Time deadline);
  void take(NodeId from, Message message);
  void begin();
  void decide();
  void report_progress();
  void take_snapshots();
  void save();
  void begin_evaluation();
  void finish_evaluation();
  bool owes_something(NodeId node) const;
  void stop(StopReason reason, std::uint64_t step);
  void order(const Order& what);

  std::uint64_t total_steps() const;
  std::uint64_t mean_step() const { return total_steps() / trainers_; }
  bool work_done() const;
  bool nothing_pending() const { return !evaluation_ && snapshots_missing_ == 0 && saves_missing_ == 0; }

  Node& node_;
  const TrainingPlan& plan_;
  const std::uint64_t trainers_;
  MessagePool pool_;
  std::vector<std::uint64_t> steps_;  // of each node
  std::size_t unheard_;               // nodes that have not told anything yet
  std::vector<bool> heard_;
  std::vector<ProgressReport> progress_;  // since it was last shown
  bool interrupted_ = false;              // somebody wants the run to end
  bool stopped_ = false;
  bool last_save_ = false;       // the one under way ends the run
  bool saved_for_good_ = false;  // it is there
  Time last_progress_{0};
  std::uint64_t next_evaluation_ = 0;
  std::uint64_t next_save_ = 0;
  std::uint64_t save_number_;
  std::vector<Snapshot> snapshots_;
  std::size_t snapshots_missing_ = 0;
  std::uint64_t snapshot_step_ = 0;
  std::size_t saves_missing_ = 0;
  std::vector<bool> saved_;           // of those, who has
  std::unique_ptr<Learner> learner_;  // to test models with while the nodes train theirs
  std::optional<SnapshotEvaluation> evaluation_;
};

}  // namespace veche
