#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "veche/comm/tags.h"
#include "veche/train/async/snapshot_evaluation.h"
#include "veche/train/loop/checkpointer.h"
#include "veche/train/loop/observer.h"
#include "veche/train/loop/records.h"

namespace veche {

// Nodes of an asynchronous run never wait for each other. The coordinator, a helper of node 0,
// counts their steps, reports progress, tests snapshots of their models and ends the run. Nodes
// send it reports and obey its orders between two steps. Of a model in stages only the first stage
// talks to the coordinator; the other stages of its replica follow it.

// Node -> coordinator (tags::to_coordinator). A snapshot's parameters and buffers precede it.
struct NodeMessage {
  enum class Kind { progress, snapshot, saved } kind = Kind::progress;
  std::uint64_t steps = 0;     // made by this node
  std::uint64_t saved = 0;     // number of its last checkpoint
  bool samples_ended = false;  // its learner is driven and has no gradients left
  ProgressReport progress = {};
  NodeReport report = {};  // of a snapshot
};

// Coordinator -> node (tags::from_coordinator).
struct Order {
  enum class Kind { progress, snapshot, save, keep, stop, done } kind = Kind::progress;
  std::uint64_t step = 0;            // the mean of all nodes' steps; of a checkpoint, its number
  std::array<char, 24> reason = {};  // of `stop`: a StopReason
  Progress progress = {};            // of all nodes, for processes with observers of their own
};

class Coordinator {
 public:
  // What it needs of node 0: constants, and objects that any thread may use. All references outlive
  // it.
  struct Setup {
    const TrainingPlan& plan;
    Endpoint& peers;     // node 0's, among the nodes that talk to the coordinator
    Endpoint& endpoint;  // node 0's, among all nodes: to compute with
    Observer* observer = nullptr;
    Checkpointer* checkpointer = nullptr;
    std::function<std::unique_ptr<Learner>()> spare_learner;  // to test snapshots with
    std::size_t parameters = 0, buffers = 0;                  // of the whole model
    std::uint64_t last_checkpoint = 0;
    bool survives_losses = false;  // see Membership
    Records records{Records::Kept::by_first_node, true};
  };
  explicit Coordinator(Setup setup);

  // Returns when all nodes were told to stop and the last checkpoint is committed; node 0 then gets
  // `done`. Throws what ends the run: PeerLost, a damaged test sample, a checkpoint that cannot be
  // saved.
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
  bool samples_ended() const;
  bool nothing_pending() const { return !evaluation_ && snapshots_missing_ == 0 && saves_missing_ == 0; }

  Time now() const { return setup_.endpoint.now(); }

  const Setup setup_;
  const TrainingPlan& plan_;
  const std::uint64_t trainers_;
  MessagePool pool_;
  std::vector<std::uint64_t> steps_;  // of each node
  std::size_t unheard_;               // nodes that have not sent anything yet
  std::vector<bool> heard_;
  std::vector<bool> samples_ended_;       // by node
  std::vector<ProgressReport> progress_;  // since it was last shown
  bool interrupted_ = false;              // the user wants the run to end
  bool stopped_ = false;
  bool last_save_ = false;       // the checkpoint under way is the last one
  bool saved_for_good_ = false;  // the last checkpoint is committed
  Time last_progress_{0};
  std::uint64_t next_evaluation_ = 0;
  std::uint64_t next_save_ = 0;
  std::uint64_t save_number_;
  std::vector<Snapshot> snapshots_;
  std::size_t snapshots_missing_ = 0;
  std::uint64_t snapshot_step_ = 0;
  std::size_t saves_missing_ = 0;
  std::vector<bool> saved_;           // by node, of the checkpoint under way
  std::unique_ptr<Learner> learner_;  // to test snapshots with
  std::optional<SnapshotEvaluation> evaluation_;
};

}  // namespace veche
