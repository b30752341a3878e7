#pragma once

#include "veche/config.h"
#include "veche/strategy_info.h"

namespace veche {

// Facts about the strategy that the settings name.

const StrategyInfo& strategy_of(const Settings& settings);
Pace pace_of(const Settings& settings);
bool is_async(const Settings& settings);
// Asynchronous nodes take steps from one common number, so that fast nodes make more of them.
bool shares_steps(const Settings& settings);
// The replicas that train; the others only serve. Throws RequestError if all of them serve.
int nodes_with_data(const Settings& settings);

}  // namespace veche
