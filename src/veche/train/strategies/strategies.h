#pragma once

#include "veche/strategy_info.h"

namespace veche {

// One function per strategy, each defined in the file of its name.
#define VECHE_STRATEGY(NAME) StrategyInfo NAME##_strategy();
#include "veche/train/strategies/strategies.def"
#undef VECHE_STRATEGY

}  // namespace veche
