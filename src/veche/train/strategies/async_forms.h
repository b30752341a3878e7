#pragma once

#include "veche/strategy.h"

namespace veche {

// The forms of strategies in which nobody waits for anybody. The synchronous forms make them when `async` or
// `update` asks for it.
std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context);
std::unique_ptr<Strategy> make_async_gossip(StrategyContext context);
std::unique_ptr<Strategy> make_async_consensus(StrategyContext context);
std::unique_ptr<Strategy> make_async_local_sgd(StrategyContext context);

}  // namespace veche
