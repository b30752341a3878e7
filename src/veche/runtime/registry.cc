#include "veche/runtime/registry.h"

#include "veche/base/module/registry.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/register.h"
#include "veche/train/strategies/strategies.h"

namespace veche {
namespace {

Registry<StrategyInfo>& own_strategies() {
  static Registry<StrategyInfo> strategies;
  return strategies;
}

}  // namespace

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> all = {
      single_strategy(),    no_strategy(),           allreduce_strategy(), parameter_server_strategy(),
      local_sgd_strategy(), consensus_strategy(),    gossip_strategy(),    push_sum_strategy(),
      moshpit_strategy(),   hierarchical_strategy(), hogwild_strategy(),
  };
  return all;
}

void register_strategy(StrategyInfo strategy) {
  const bool makes = static_cast<bool>(strategy.make);
  own_strategies().add(std::move(strategy), "strategy", makes, [](const std::string& name) {
    return std::ranges::find(strategies(), name, &StrategyInfo::name) != strategies().end();
  });
}

const StrategyInfo& find_strategy(std::string_view name) {
  if (const StrategyInfo* own = own_strategies().find(name)) return *own;
  std::vector<std::string> names = own_strategies().names();
  for (const StrategyInfo& info : strategies()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw RequestError("strategy.name = \"" + std::string(name) + "\" does not exist" +
                     suggestion(name, names));
}

}  // namespace veche
