#include "veche/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "veche/base/files/read_text.h"
#include "veche/base/text/host_port.h"
#include "veche/base/text/nearest.h"
#include "veche/base/text/nesting.h"
#include "veche/data/sets/source.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/quantity.h"
#include "veche/runtime/plan/simulation_plan.h"
#include "veche/runtime/registry.h"
#include "veche/train/optim/optimizer.h"

namespace veche {
namespace {

constexpr std::uintmax_t kLargestConfig = 16 << 20;  // lists of many nodes included
constexpr std::size_t kLongestRunName = 200;         // file systems take 255 bytes
constexpr std::size_t kLongestPath = 3000;           // to runs: the system takes 4095 bytes

Value from_toml(const toml::node& node, const std::string& where) {
  if (const auto* value = node.as_boolean()) return {value->get()};
  if (const auto* value = node.as_integer()) return {value->get()};
  if (const auto* value = node.as_floating_point()) return {value->get()};
  if (const auto* value = node.as_string()) return {value->get()};
  if (const auto* array = node.as_array()) {
    Value::List list;
    for (const toml::node& item : *array) list.push_back(from_toml(item, where));
    return {std::move(list)};
  }
  if (const auto* table = node.as_table()) {
    Value::Table items;
    for (const auto& [key, item] : *table)
      items.emplace(std::string(key.str()), from_toml(item, where + "." + std::string(key.str())));
    return {std::move(items)};
  }
  throw RequestError(where + " must be a number, a word, true, false or a list");
}

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

// Those of the section, and of a model or a data set that a program has registered.
std::vector<KeySpec> keys_of(const std::string& section,
                             const std::map<std::string, Value, std::less<>>& given) {
  std::vector<KeySpec> keys = std::ranges::find(sections(), section, &SectionSpec::name)->keys;
  if (section == "data")
    std::ranges::copy(own_datasets().names(),
                      std::back_inserter(std::ranges::find(keys, "name", &KeySpec::name)->choices));
  const auto named = given.find("name");
  const auto* name = named == given.end() ? nullptr : std::get_if<std::string>(&named->second.data);
  if (name == nullptr) return keys;
  checked(section, {*named}, keys);  // before its keys, which mean nothing without it
  if (section == "model") find_model(*name);
  if (const OwnModel* model = section == "model" ? own_models().find(*name) : nullptr)
    add_own_keys(keys, model->keys, section, *name);
  if (const OwnDataset* set = section == "data" ? own_datasets().find(*name) : nullptr)
    add_own_keys(keys, set->keys, section, *name);
  return keys;
}

// A count of nodes that follows from other keys when cluster.nodes is not given: the graph's, or the
// quadratic's.
std::optional<std::int64_t> implied_nodes(const Settings& settings) {
  if (settings.model.get<std::string>("name") == "quadratic" && settings.model.has("a"))
    return static_cast<std::int64_t>(std::get<Value::List>(settings.model.at("a").data).size());
  if (!find_strategy(settings.strategy.get<std::string>("name")).uses_topology()) return {};
  try {
    return settings.stages() * make_topology({.graph = settings.topology.get<std::string>("graph"),
                                              .weights = "metropolis",
                                              .nodes = {},
                                              .seed = settings.seed()})
                                   ->nodes();
  } catch (const RequestError&) {
    return {};  // a spec without a count; what else is wrong with it is said where the topology is made
  }
}

// Whatever else is said: a wrong value is wrong also where it is not used.
void check_pipeline_values(const Options& pipeline) {
  const Value& again = pipeline.at("recompute");
  if (!std::holds_alternative<bool>(again.data) && !std::holds_alternative<std::string>(again.data))
    throw RequestError("pipeline.recompute must be true, false or \"except-last\", not " + to_toml(again));
  const Value& cut = pipeline.at("cut");
  if (!std::holds_alternative<std::string>(cut.data) && !std::holds_alternative<Value::List>(cut.data))
    throw RequestError("pipeline.cut must be \"time\", \"parameters\", \"layers\" or a list, not " +
                       to_toml(cut));
  const auto* places = std::get_if<Value::List>(&cut.data);
  std::int64_t before = 0;
  for (const Value& item : places == nullptr ? Value::List{} : *places) {
    const auto* place = std::get_if<std::int64_t>(&item.data);
    if (place == nullptr || *place <= before)
      throw RequestError("pipeline.cut must hold whole numbers from 1 on, ascending, not " + to_toml(cut));
    before = *place;
  }
}

// Nobody said how many nodes: one replica, unless something implies more.
void settle_pipeline(Settings& settings, bool nodes_given) {
  constexpr std::int64_t kMicroBatchesAStage = 4;
  check_pipeline_values(settings.pipeline);
  const std::int64_t stages = settings.stages(), nodes = settings.nodes();
  const std::int64_t batch = settings.brings_data ? 1 : settings.data.get<std::int64_t>("batch");
  if (!settings.pipeline.has("micro_batches"))
    settings.pipeline.set("micro_batches", {stages == 1 ? 1 : std::min(kMicroBatchesAStage * stages, batch)});
  if (const auto parts = settings.pipeline.get<std::int64_t>("micro_batches"); parts > batch)
    throw RequestError(fmt::format(
        "pipeline.micro_batches = {} are more than the {} samples of data.batch: choose at most {}", parts,
        batch, batch));
  if (stages == 1) return;
  if (nodes % stages != 0 && !nodes_given) {
    settings.cluster.set("nodes", {stages});
  } else if (nodes % stages != 0) {
    const std::int64_t below = nodes / stages * stages;
    throw RequestError(
        fmt::format("cluster.nodes = {} is not a multiple of pipeline.stages = {}: choose {}{}", nodes,
                    stages, below > 0 ? fmt::format("{} or ", below) : "", below + stages));
  }
}

void check_grid(const Options& grid) {
  const auto check = [](const char* key, const std::string& text) {
    if (!read_host_port(text))
      throw RequestError(fmt::format("grid.{} = \"{}\" is no HOST:PORT, such as 10.0.0.7:4000", key, text));
  };
  check("listen", grid.get<std::string>("listen"));
  for (const std::string& text : grid.get<std::vector<std::string>>("address", {})) check("address", text);
  std::istringstream tables(grid.get<std::string>("dht"));
  for (std::string text; std::getline(tables, text, ',');) check("dht", text);
  read_duration("grid.wait_limit", grid.at("wait_limit"));
}

}  // namespace

Config Config::from_file(const std::filesystem::path& file) {
  return from_text(read_text(file, "the configuration " + file.string(), kLargestConfig), file.string());
}

Config Config::from_text(std::string_view text, const std::string& origin) {
  toml::table table;
  try {
    check_toml_nesting(text);
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw RequestError(fmt::format("{} line {}: {}", origin, error.source().begin.line, error.description()));
  } catch (const RequestError& error) {
    throw RequestError(origin + " " + error.what());
  }
  Config config;
  for (const auto& [section, node] : table) {
    const std::string name(section.str());
    const auto* keys = node.as_table();
    if (keys == nullptr)
      throw RequestError(
          fmt::format("{}: '{}' stands outside a section; write it as section.key", origin, name));
    for (const auto& [key, value] : *keys)
      config.sections_[name].insert_or_assign(std::string(key.str()),
                                              from_toml(value, name + "." + std::string(key.str())));
  }
  return config;
}

void Config::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::size_t dot = assignment.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos)
    throw RequestError(fmt::format("--set {} is not of the form section.key=value", assignment));
  const std::string section(assignment.substr(0, dot));
  const std::string key(assignment.substr(dot + 1, equals - dot - 1));
  const std::string text(assignment.substr(equals + 1));
  Value value{text};
  try {
    check_toml_nesting(text);
    const toml::table parsed = toml::parse("value = " + text);
    if (parsed.size() == 1) value = from_toml(*parsed.get("value"), section + "." + key);
  } catch (const toml::parse_error&) {
    // A word without quotes, such as ring:4.
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("--set {}.{}: {}", section, key, error.what()));
  }
  sections_[section].insert_or_assign(key, std::move(value));
}

bool Config::has(std::string_view section, std::string_view key) const {
  const auto found = sections_.find(section);
  return found != sections_.end() && found->second.contains(key);
}

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
  const std::vector<std::pair<std::string, Options*>> targets = {
      {"run", &settings.run},           {"model", &settings.model},
      {"data", &settings.data},         {"optimizer", &settings.optimizer},
      {"cluster", &settings.cluster},   {"topology", &settings.topology},
      {"compress", &settings.compress}, {"pipeline", &settings.pipeline},
      {"network", &settings.network},   {"grid", &settings.grid},
  };
  for (const auto& [name, options] : targets)
    *options = checked(name, given(name), keys_of(name, given(name)));

  if (settings.model.has("file") && !has("model", "name"))
    settings.model.set("name", {std::string("torchscript")});
  if (const bool script = settings.model.get<std::string>("name") == "torchscript";
      script != settings.model.has("file"))
    throw RequestError(script ? "model.name = \"torchscript\" needs model.file, the file of the module"
                              : "model.file is for model.name = \"torchscript\"; leave model.name out");

  Section strategy = given("strategy");
  if (!strategy.contains("name")) strategy.insert_or_assign("name", Value{std::string("consensus")});
  const auto* strategy_name = std::get_if<std::string>(&strategy.at("name").data);
  if (strategy_name == nullptr) throw RequestError("strategy.name must be a word");
  std::vector<KeySpec> strategy_keys{
      {.name = "name", .kind = KeySpec::Kind::text, .fallback = {}, .help = "which"}};
  add_own_keys(strategy_keys, find_strategy(*strategy_name).keys, "strategy", *strategy_name);
  settings.strategy = checked("strategy", strategy, strategy_keys);

  for (const auto& [key, most] : {std::pair("name", kLongestRunName), std::pair("out", kLongestPath)})
    if (const auto text = settings.run.get<std::string>(key, ""); text.size() > most)
      throw RequestError(
          fmt::format("run.{} has {} bytes: {} are the most that can be used", key, text.size(), most));
  find_model(settings.model.get<std::string>("name"));
  settings.brings_data = !needs_data(settings.model.get<std::string>("name"));
  if (!settings.data.has("name") && !settings.data.has("path"))
    settings.data.set("name", {std::string("fashion-mnist")});
  if (!has("optimizer", "lr"))
    settings.optimizer.set("lr", {default_rate(settings.optimizer.get<std::string>("name"))});
  for (const char* key : {"init", "file", "x0"})
    if (settings.model.has(key) && settings.model.get<std::string>("start") == "different")
      throw RequestError(fmt::format(
          "model.{} gives all nodes the same weights, model.start = \"different\" does not; keep one", key));
  if (settings.run.has("epochs") && settings.run.has("steps"))
    throw RequestError("run.epochs and run.steps are both given; keep one");
  if (settings.brings_data && settings.run.has("epochs"))
    throw RequestError("run.epochs needs a data set, which this model does not use; give run.steps");
  if (!settings.run.has("epochs") && !settings.run.has("steps")) {
    if (settings.brings_data)
      settings.run.set("steps", {std::int64_t{100}});
    else
      settings.run.set("epochs", {2.0});
  }
  if (!has("data", "partition"))
    settings.data.set("partition", {std::string(settings.cluster.has("speed") ? "proportional" : "iid")});
  if (!has("cluster", "nodes"))
    if (const auto implied = implied_nodes(settings), nodes = implied ? implied : preferred_nodes_; nodes)
      settings.cluster.set("nodes", {*nodes});
  settle_pipeline(settings, has("cluster", "nodes"));
  // Whether or not this run uses them.
  check_grid(settings.grid);
  if (sections_.contains("network")) read_network(settings.network, settings.nodes(), settings.seed());
  return settings;
}

std::string Settings::to_toml() const {
  const std::vector<std::pair<std::string, const Options*>> parts = {
      {"run", &run},           {"model", &model},       {"data", &data},         {"optimizer", &optimizer},
      {"cluster", &cluster},   {"topology", &topology}, {"strategy", &strategy}, {"compress", &compress},
      {"pipeline", &pipeline}, {"network", &network},   {"grid", &grid}};
  std::string text;
  for (const auto& [name, options] : parts) {
    if (options == &pipeline && !is_cut()) continue;
    if (options == &grid && grid.all() == checked(name, {}, keys_of(name, {})).all()) continue;
    if (options == &network && cluster.get<std::string>("transport") != "simulated") continue;
    text += (text.empty() ? "[" : "\n[") + name + "]\n";
    for (const auto& [key, value] : options->all()) text += key + " = " + veche::to_toml(value) + "\n";
  }
  return text;
}

}  // namespace veche
