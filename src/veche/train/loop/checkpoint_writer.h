#pragma once

#include "veche/train/loop/checkpointer.h"
#include "veche/train/loop/node_parts.h"
#include "veche/train/loop/records.h"

namespace veche {

// What a checkpoint holds of a node, in place, except the strategy's state. First: of a node that
// is not training. Second: of a training node, whose channels count its traffic.
NodeState state_of(ModelState& model, Counters& counters);
NodeState state_of(Connections& links, ModelState& model, Counters& counters, const TrainingPlan& plan);
NodeState with_strategy(NodeState state, SavedState strategy);

// Saves a node. Belongs to the node's thread.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(const NodeParts& node);

  bool enabled() const { return node_.services.checkpointer != nullptr; }
  // Writes this node's part; the caller sees to it that all nodes write theirs before one commits.
  void write(std::uint64_t number);
  // All nodes have written this one.
  void commit(std::uint64_t number);
  // Collective: writes and commits. Does nothing if this is the last one saved.
  void save(std::uint64_t number);
  void save_now() { save(node_.counters.step); }

 private:
  NodeParts node_;
  const Records records_;
};

}  // namespace veche
