#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "veche/data/feed/loader.h"
#include "veche/learner.h"
#include "veche/node_id.h"
#include "veche/train/loop/checkpointer.h"
#include "veche/train/loop/observer.h"

namespace veche {

// What a process provides to the nodes that it runs, while they train.
struct NodeServices {
  Prefetcher& prefetcher;
  const std::atomic<bool>& interrupted;                          // the user wants the run to end
  Observer* observer = nullptr;                                  // called by the speaker only
  Checkpointer* checkpointer = nullptr;                          // null: nothing is saved
  std::function<std::unique_ptr<Learner>()> spare_learner = {};  // for node 0, to test snapshots with
  NodeId speaker = {};      // the node of this process whose evaluations hold all nodes' reports
  bool low_memory = false;  // idle learners give back their memory

  Observer* observer_of(NodeId node) const { return node == speaker ? observer : nullptr; }
};

}  // namespace veche
