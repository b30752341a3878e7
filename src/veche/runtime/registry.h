#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veche/train/strategy.h"

namespace veche {

// Every strategy there is. Adding one is its file and a line in registry.cc.
const std::vector<StrategyInfo>& strategies();

// Throws RequestError with the nearest name.
const StrategyInfo& find_strategy(std::string_view name);

}  // namespace veche
