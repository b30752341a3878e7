#pragma once

#include "veche/strategy.h"

namespace veche {

struct ConsensusOptions;
struct ParameterServerOptions;

// The asynchronous forms of strategies. The factories of the synchronous forms make them when
// `async` or `update` asks for it.
std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context,
                                                      const ParameterServerOptions& options);
std::unique_ptr<Strategy> make_async_gossip(StrategyContext context);
std::unique_ptr<Strategy> make_async_consensus(StrategyContext context, const ConsensusOptions& options);
std::unique_ptr<Strategy> make_async_local_sgd(StrategyContext context);

}  // namespace veche
