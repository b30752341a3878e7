#pragma once

#include "veche/strategy_info.h"

namespace veche {

// One function a strategy, each in the file of its name. runtime/registry.cc lists them.
StrategyInfo single_strategy();
StrategyInfo no_strategy();
StrategyInfo allreduce_strategy();
StrategyInfo parameter_server_strategy();
StrategyInfo local_sgd_strategy();
StrategyInfo consensus_strategy();
StrategyInfo gossip_strategy();
StrategyInfo push_sum_strategy();
StrategyInfo moshpit_strategy();
StrategyInfo hierarchical_strategy();
StrategyInfo hogwild_strategy();

}  // namespace veche
