#include "veche/runtime/registry.h"

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/train/strategies.h"

namespace veche {

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> all = {
      single_strategy(),    no_strategy(),           allreduce_strategy(), parameter_server_strategy(),
      local_sgd_strategy(), consensus_strategy(),    gossip_strategy(),    push_sum_strategy(),
      moshpit_strategy(),   hierarchical_strategy(), hogwild_strategy(),
  };
  return all;
}

const StrategyInfo& find_strategy(std::string_view name) {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw RequestError("strategy.name = \"" + std::string(name) + "\" does not exist" +
                     suggestion(name, names));
}

}  // namespace veche
