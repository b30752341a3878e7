#pragma once

#include "veche/node_id.h"

namespace veche {

// Who keeps the records of a run, its metrics and checkpoints: the process of node 0 for all nodes,
// or every process a record of its own.
class Records {
 public:
  enum class Kept { by_first_node, by_every_process };
  // `with_strategy`: checkpoints hold the strategy's state, too.
  Records(Kept kept, bool with_strategy) : kept_(kept), with_strategy_(with_strategy) {}

  // Whether this node commits the checkpoints that all nodes have written. `speaker` speaks for the
  // node's process.
  bool commits(NodeId node, NodeId speaker) const { return node == (tells_all() ? speaker : NodeId{0}); }
  // Whether node 0 passes on to all nodes the progress of all, and which checkpoints all have
  // written: only then does a checkpoint count for a node.
  bool tells_all() const { return kept_ == Kept::by_every_process; }
  bool with_strategy() const { return with_strategy_; }

 private:
  Kept kept_;
  bool with_strategy_;
};

}  // namespace veche
