#pragma once

#include <memory>

#include "veche/strategy.h"

namespace veche {

// Gossip between random pairs with an outer optimiser (strategy.outer): NoLoCo.
std::unique_ptr<Strategy> make_outer_gossip(StrategyContext context);

}  // namespace veche
