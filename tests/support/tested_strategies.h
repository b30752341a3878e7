#pragma once

#include <vector>

#include "veche/runtime/registry.h"

namespace veche::testing {

// What the conformance suite runs over: the built-in strategies, or those that a program puts here
// before the tests begin.
inline std::vector<StrategyInfo>& tested_strategies() {
  static std::vector<StrategyInfo> tested = strategies();
  return tested;
}

}  // namespace veche::testing
