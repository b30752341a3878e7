#pragma once

#include <functional>
#include <memory>
#include <string>

#include "extension/arrays.h"
#include "extension/module.h"
#include "veche/strategy_context.h"

namespace veche::python {

class StrategyCompressor;

// What Python code has of its node. It outlives the run, and then says so. Its memory does not: the
// arrays that are views of the run's memory are valid until the node ends.
class StrategyNode {
 public:
  explicit StrategyNode(StrategyContext& context);
  // Called by the strategy when it ends. Needs the GIL.
  void end();

  // Throws a RuntimeError of Python after the end.
  StrategyContext& context() const;
  const Topology& topology() const;

  py::array x, gradient, buffers;
  std::uint64_t step = 0;                    // that the node is at
  StrategyCompressor* compressor = nullptr;  // of a strategy that declares a codec

 private:
  StrategyContext* context_;
};

// Adds the codec's methods to the class of nodes in Python.
void add_strategy_compressor(py::handle node_class);

// A conversation of a node, in Python code. A call releases the GIL while it waits.
class StrategyChannel {
 public:
  StrategyChannel(std::shared_ptr<StrategyNode> node, const Channel& channel)
      : node_(std::move(node)), channel_(std::make_shared<Channel>(channel)) {}

  // Throws a RuntimeError of Python after the end of the run.
  Channel& get() const {
    node_->context();
    return *channel_;
  }
  StrategyChannel child(std::uint64_t which) const { return {node_, get().child(which)}; }

 private:
  std::shared_ptr<StrategyNode> node_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace veche::python
