#pragma once

#include <memory>

#include "veche/strategy.h"

namespace veche {

// Local SGD whose model is averaged in fragments (strategy.fragments, delay and blend).
std::unique_ptr<Strategy> make_streaming_local_sgd(StrategyContext context);

}  // namespace veche
