#pragma once

#include "veche/strategy.h"

namespace veche {

// A node that serves a part of the model to all: what it has become there is put into a whole model, so that
// the nodes of another view can go on from it.
class HoldsPart {
 public:
  virtual ~HoldsPart() = default;
  virtual void put_back(std::span<float> parameters) = 0;
};

// The forms of strategies in which nobody waits for anybody. The synchronous forms make them when `async` or
// `update` asks for it.
std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context);
std::unique_ptr<Strategy> make_async_gossip(StrategyContext context);
std::unique_ptr<Strategy> make_async_consensus(StrategyContext context);
std::unique_ptr<Strategy> make_async_local_sgd(StrategyContext context);

}  // namespace veche
