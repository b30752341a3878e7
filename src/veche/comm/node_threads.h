#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "veche/base/module/module_api.h"
#include "veche/node_id.h"

namespace veche {

// A node that is a thread, and its helpers, which are threads too: what engines have in common whose nodes
// live in real time. Any thread.
class VECHE_MODULE_API NodeThreads {
 public:
  // `lost` is called when the node cannot go on, or has ended: its waits and those of others must check
  // again.
  explicit NodeThreads(std::function<void()> lost) : lost_(std::move(lost)) {}
  ~NodeThreads() { end(); }

  void spawn(std::function<void()> helper);
  // Every wait of the node and its helpers calls it when it is woken, and before: throws what a helper has
  // thrown, or NodeEnded.
  void check() const;
  // The node's own work is over. Its helpers are ended and joined.
  void end();
  // What its helpers have thrown, after `end`.
  const std::vector<std::exception_ptr>& errors() const { return errors_; }

 private:
  void fail(std::exception_ptr error);

  const std::function<void()> lost_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> failed_ = false;
  mutable std::mutex mutex_;
  std::vector<std::exception_ptr> errors_;  // guarded by mutex_ until `end` has returned
  std::vector<std::jthread> helpers_;       // guarded by mutex_
};

// Runs `body` as a thread for each node. `threads` gives a node's.
VECHE_MODULE_API void run_as_threads(std::span<const NodeId> nodes, const std::function<void(NodeId)>& body,
                                     const std::function<NodeThreads&(NodeId)>& threads);

}  // namespace veche
