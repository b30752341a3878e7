#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veche/strategy.h"

namespace veche {

// The strategies that are built in: a file each and a line in registry.cc. Programs register their own beside
// them (veche/register.h).
const std::vector<StrategyInfo>& strategies();

// Throws RequestError with the nearest name.
const StrategyInfo& find_strategy(std::string_view name);

}  // namespace veche
