#include "veche/runtime/plan/strategy_choice.h"

#include <fmt/format.h>

#include "veche/errors.h"
#include "veche/runtime/registry.h"

namespace veche {

const StrategyInfo& strategy_of(const Settings& settings) { return find_strategy(settings.strategy.name); }

Pace pace_of(const Settings& settings) { return strategy_of(settings).pace(settings.strategy); }

bool is_async(const Settings& settings) { return pace_of(settings) != Pace::in_step; }

bool shares_steps(const Settings& settings) {
  return pace_of(settings) == Pace::async && settings.cluster.work == AsyncWork::shared;
}

int nodes_with_data(const Settings& settings) {
  const int nodes = settings.replicas();
  const int idle = strategy_of(settings).idle_nodes(settings.strategy);
  if (idle >= nodes)
    throw RequestError(
        fmt::format("cluster.nodes = {} leaves no node to train: {} are servers", nodes, idle));
  return nodes - idle;
}

}  // namespace veche
