#pragma once

#include "veche/train/strategy.h"

namespace veche {

// The forms of strategies in which nobody waits for anybody. The synchronous forms make them when `async` or
// `update` asks for it.
std::unique_ptr<Strategy> make_parameter_server_at_own_pace(StrategyContext context);
std::unique_ptr<Strategy> make_gossip_at_own_pace(StrategyContext context);
std::unique_ptr<Strategy> make_consensus_at_own_pace(StrategyContext context);
std::unique_ptr<Strategy> make_local_sgd_at_own_pace(StrategyContext context);

}  // namespace veche
