#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "veche/base/text/nearest.h"
#include "veche/config.h"
#include "veche/data/sets/source.h"
#include "veche/errors.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/network_keys.h"
#include "veche/runtime/config/settings_values.h"
#include "veche/runtime/config/settle.h"
#include "veche/runtime/registry.h"
#include "veche/train/optim/optimizer.h"

namespace veche {
namespace {

std::vector<std::string> section_names() {
  std::vector<std::string> names{"strategy"};
  for (const SectionSpec& section : sections()) names.push_back(section.name);
  return names;
}

void add_own_keys(std::vector<KeySpec>& keys, const std::vector<KeySpec>& own, const std::string& section,
                  const std::string& name) {
  for (const KeySpec& key : own) {
    if (std::ranges::find(keys, key.name, &KeySpec::name) != keys.end())
      throw RequestError(
          fmt::format("'{}' was registered with a key '{}', which [{}] has already: give it another name",
                      name, key.name, section));
    keys.push_back(key);
  }
}

// The section's own keys, and those of a model or a data set that a program has registered.
std::vector<KeySpec> keys_of(const SectionSpec& section,
                             const std::map<std::string, Value, std::less<>>& given) {
  std::vector<KeySpec> keys(section.keys.begin(), section.keys.end());
  if (section.name == "data")
    std::ranges::copy(own_datasets().names(),
                      std::back_inserter(std::ranges::find(keys, "name", &KeySpec::name)->choices));
  if (section.name == "optimizer")
    std::ranges::copy(own_optimizers().names(),
                      std::back_inserter(std::ranges::find(keys, "name", &KeySpec::name)->choices));
  const auto named = given.find("name");
  const auto* name = named == given.end() ? nullptr : std::get_if<std::string>(&named->second.data);
  if (name == nullptr) return keys;
  checked(section.name, {*named}, keys);  // before the keys that depend on it
  if (section.name == "model") find_model(*name);
  if (const OwnModel* model = section.name == "model" ? own_models().find(*name) : nullptr)
    add_own_keys(keys, model->keys, section.name, *name);
  if (const OwnDataset* set = section.name == "data" ? own_datasets().find(*name) : nullptr)
    add_own_keys(keys, set->keys, section.name, *name);
  return keys;
}

StrategySettings read_strategy(std::map<std::string, Value, std::less<>> given) {
  if (!given.contains("name")) given.insert_or_assign("name", Value{StrategySettings{}.name});
  const auto* name = std::get_if<std::string>(&given.at("name").data);
  if (name == nullptr) throw RequestError("strategy.name must be a word");
  std::vector<KeySpec> keys{{.name = "name", .kind = KeySpec::Kind::text, .fallback = {}, .help = "which"}};
  add_own_keys(keys, find_strategy(*name).keys, "strategy", *name);
  return {checked("strategy", given, keys), *name};
}

}  // namespace

Settings Config::resolve() const {
  const auto names = section_names();
  for (const auto& [section, keys] : sections_)
    if (std::ranges::find(names, section) == names.end())
      throw RequestError(fmt::format("there is no section [{}]{}", section, suggestion(section, names)));

  const auto given = [&](std::string_view section) {
    const auto found = sections_.find(section);
    return found == sections_.end() ? Section{} : found->second;
  };
  Settings settings;
  for (const SectionSpec& section : sections()) {
    const Section values = given(section.name);
    fill_section(settings, section, checked(section.name, values, keys_of(section, values)));
  }
  settle_model_name(settings, has("model", "name"));
  settings.strategy = read_strategy(given("strategy"));
  check_run_names(settings.run);
  find_model(settings.model.name);
  settings.brings_data = !needs_data(settings.model.name);
  if (!settings.data.name && settings.data.path.empty()) settings.data.name = "fashion-mnist";
  settle_optimizer(settings, [this](const char* key) { return has("optimizer", key); });
  check_model_start(settings.model);
  settle_length(settings);
  check_batch(settings);
  if (!has("data", "partition"))
    settings.data.partition = {
        settings.cluster.speed.empty() ? PartitionRule::iid : PartitionRule::proportional, {}};
  if (!has("cluster", "nodes"))
    if (const auto implied = implied_nodes(settings), nodes = implied ? implied : preferred_nodes_; nodes)
      settings.cluster.nodes = static_cast<int>(*nodes);
  settle_pipeline(settings, has("pipeline", "micro_batches"), has("cluster", "nodes"));
  // Even if this run does not use them.
  check_grid(settings.grid);
  settings.model.keys = values_of(settings, find_section("model"));
  settings.data.keys = values_of(settings, find_section("data"));
  if (sections_.contains("network")) read_network(settings.network, settings.nodes(), settings.seed());
  return settings;
}

}  // namespace veche
