#pragma once

#include "veche/strategy.h"

namespace veche {

// The asynchronous forms of strategies. The factories of the synchronous forms make them when
// `async` or `update` asks for it.
std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context);
std::unique_ptr<Strategy> make_async_gossip(StrategyContext context);
std::unique_ptr<Strategy> make_async_consensus(StrategyContext context);
std::unique_ptr<Strategy> make_async_local_sgd(StrategyContext context);

}  // namespace veche
