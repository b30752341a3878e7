#include "veche/comm/node_threads.h"

#include <string>
#include <system_error>

#include "veche/comm/cluster.h"
#include "veche/errors.h"

namespace veche {

void NodeThreads::spawn(std::function<void()> helper) {
  const MutexLock lock(mutex_);
  if (ended_) return;
  helpers_.emplace_back([this, helper = std::move(helper)] {
    try {
      helper();
    } catch (const NodeEnded&) {
      // The expected end.
    } catch (...) {
      fail(std::current_exception());
    }
  });
}

void NodeThreads::fail(std::exception_ptr error) {
  {
    const MutexLock lock(mutex_);
    errors_.push_back(std::move(error));
  }
  failed_ = true;
  lost_();
}

void NodeThreads::check() const {
  if (ended_) throw NodeEnded();
  if (!failed_) return;
  const MutexLock lock(mutex_);
  std::rethrow_exception(errors_.front());
}

void NodeThreads::end() {
  std::vector<std::jthread> helpers;
  {
    const MutexLock lock(mutex_);
    if (ended_.exchange(true)) return;
    helpers = std::move(helpers_);
  }
  lost_();
  helpers.clear();  // joins
}

void run_as_threads(std::span<const NodeId> nodes, const std::function<void(NodeId)>& body,
                    const std::function<NodeThreads&(NodeId)>& threads) {
  std::vector<std::vector<std::exception_ptr>> errors(nodes.size());
  {
    std::vector<std::jthread> running;
    const auto run_one = [&](std::size_t i) {
      NodeThreads& mine = threads(nodes[i]);
      std::exception_ptr own;
      try {
        body(nodes[i]);
      } catch (...) {
        own = std::current_exception();
      }
      mine.end();
      errors[i] = mine.errors();
      errors[i].push_back(own);
    };
    try {
      for (std::size_t i = 0; i < nodes.size(); ++i) running.emplace_back(run_one, i);
    } catch (const std::system_error& error) {
      const std::size_t started = running.size();
      errors[started].push_back(
          std::make_exception_ptr(RunError("node " + std::to_string(nodes[started].value) +
                                           " cannot be started: this process may have no more threads (" +
                                           error.code().message() + "); lower cluster.nodes")));
      // The others must not wait for them.
      for (std::size_t i = started; i < nodes.size(); ++i) threads(nodes[i]).end();
    }
  }
  std::vector<std::exception_ptr> all;
  for (const auto& of_node : errors) all.insert(all.end(), of_node.begin(), of_node.end());
  rethrow_cause(all);
}

}  // namespace veche
