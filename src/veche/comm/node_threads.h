#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "veche/base/module_api.h"
#include "veche/base/thread/mutex.h"
#include "veche/node_id.h"

namespace veche {

// The threads of one node and its helpers, for engines that run in real time. Thread-safe.
class VECHE_MODULE_API NodeThreads {
 public:
  // `lost` is called when the node has failed or ended: it must wake all waits, so that they check
  // again.
  explicit NodeThreads(std::function<void()> lost) : lost_(std::move(lost)) {}
  ~NodeThreads() { end(); }

  void spawn(std::function<void()> helper);
  // Called before every wait of the node and its helpers, and when a wait is woken. Throws the
  // exception of a failed helper, or NodeEnded.
  void check() const;
  // The node's body has returned: ends and joins its helpers.
  void end();
  // The exceptions of its helpers; valid after `end`.
  const std::vector<std::exception_ptr>& errors() const VECHE_NOT_CHECKED { return errors_; }

 private:
  void fail(std::exception_ptr error);

  const std::function<void()> lost_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> failed_ = false;
  mutable Mutex mutex_;
  std::vector<std::exception_ptr> errors_ VECHE_GUARDED_BY(mutex_);  // until `end` has returned
  std::vector<std::jthread> helpers_ VECHE_GUARDED_BY(mutex_);
};

// Runs `body` for each node, each in a thread of its own. `threads` returns the NodeThreads of a
// node.
VECHE_MODULE_API void run_as_threads(std::span<const NodeId> nodes, const std::function<void(NodeId)>& body,
                                     const std::function<NodeThreads&(NodeId)>& threads);

}  // namespace veche
