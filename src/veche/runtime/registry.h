#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veche/strategy_info.h"

namespace veche {

// The built-in strategies: one file each and one line in train/strategies/strategies.def. Programs
// register their own besides (veche/register.h).
const std::vector<StrategyInfo>& strategies();

// Throws RequestError with the nearest name.
const StrategyInfo& find_strategy(std::string_view name);

// The name of the first built-in strategy that fits, for messages that suggest one. `options` are
// the strategy's defaults.
std::string suggest_strategy(
    const std::function<bool(const StrategyInfo& info, const Options& options)>& fits);
// Whether all nodes have equal models.
bool has_equal_replicas(const StrategyInfo& info, const Options& options);

}  // namespace veche
