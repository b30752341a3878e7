#include "veche/runtime/registry.h"

#include <algorithm>
#include <stdexcept>

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

Options default_options(const std::vector<KeySpec>& keys) {
  Options options;
  for (const KeySpec& key : keys)
    if (key.fallback) options.set(key.name, *key.fallback);
  return options;
}

}  // namespace

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> all = {
#define VECHE_STRATEGY(NAME) NAME##_strategy(),
#include "veche/train/strategies/strategies.def"
#undef VECHE_STRATEGY
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

std::string suggest_strategy(
    const std::function<bool(const StrategyInfo& info, const Options& options)>& fits) {
  for (const StrategyInfo& info : strategies())
    if (fits(info, default_options(info.keys))) return info.name;
  throw std::logic_error("no built-in strategy fits");
}

bool has_equal_replicas(const StrategyInfo& info, const Options& options) {
  return info.replicas(options) == Replicas::equal;
}

}  // namespace veche
