#pragma once

#include "veche/strategy.h"

namespace veche {

// A node that serves a part of the model to all, where members come and go.
class HoldsPart {
 public:
  virtual ~HoldsPart() = default;
  // Before start(): the step that the others are at, and what the view before has left.
  virtual void go_on(std::uint64_t step, std::vector<float> unpushed) = 0;
  // After all: what the part has become is put into a whole model, so that the nodes of another view can go
  // on from it. Returns the sum of this node's gradients that no server has been sent.
  virtual std::vector<float> put_back(std::span<float> parameters) = 0;
};

// One that can begin, and go on, without anybody: where members come and go, those of a view take it up one
// after the other, and one that is lost is still in it for a while.
class WaitsForNobody {
 public:
  virtual ~WaitsForNobody() = default;
  virtual void wait_for_nobody() = 0;  // before start()
};

// The forms of strategies in which nobody waits for anybody. The synchronous forms make them when `async` or
// `update` asks for it.
std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context);
std::unique_ptr<Strategy> make_async_gossip(StrategyContext context);
std::unique_ptr<Strategy> make_async_consensus(StrategyContext context);
std::unique_ptr<Strategy> make_async_local_sgd(StrategyContext context);

}  // namespace veche
