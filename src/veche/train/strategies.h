#pragma once

#include "veche/train/strategy.h"

namespace veche {

// One function a strategy, each in the file of its name. runtime/registry.cc lists them.
StrategyInfo single_strategy();
StrategyInfo no_strategy();
StrategyInfo allreduce_strategy();
StrategyInfo consensus_strategy();

}  // namespace veche
