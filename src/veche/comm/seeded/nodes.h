#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "veche/comm/seeded/in_flight.h"
#include "veche/comm/seeded/scheduler.h"
#include "veche/comm/seeded/seeded.h"

namespace veche {

// State shared by the endpoints of a seeded cluster. Except for `alive` and traffic, only for the
// holder of the scheduler's baton.
class SeededNodes {
 public:
  SeededNodes(int nodes, const SeededOptions& options);

  struct One {
    std::atomic<bool> alive = true;
    bool ended = false;
    std::vector<std::exception_ptr> errors;  // of its helpers, then its own
    std::vector<std::size_t> helpers;        // tasks
    InFlight in_flight;
    double slowness = 1;
  };
  One& operator[](NodeId node);  // refuses ids out of range
  int size() const { return static_cast<int>(all_.size()); }

  void run(const std::function<void(NodeId)>& body);
  void spawn(NodeId node, std::function<void()> helper);

  // At every call of a node or its helpers: rethrows a helper's exception, or throws NodeEnded.
  void check(NodeId node);
  // Lets other tasks run until `due`, or until the node has ended or failed.
  void wait(NodeId node, const std::function<Time()>& due, const std::function<std::string()>& what);

  const SeededOptions options;
  Scheduler scheduler;

 private:
  void run_one(NodeId node, const std::function<void(NodeId)>& body);

  std::vector<One> all_;
};

}  // namespace veche
