#include "veche/runtime/config/member_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/settings_values.h"
#include "veche/runtime/inference/saved_model.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {
namespace {

// The keys that a member chooses for itself; the other members do not see them.
std::vector<std::string> members_keys() { return keys_with(&SectionKey::members_own); }

bool is_members_key(std::string_view name) {
  const SectionKey* const key = find_key(name);
  return key != nullptr && key->members_own;
}

// A member has one node unless cluster.nodes says more; the number of nodes of the whole run is not
// known. With stages a member has one node, too, and cluster.nodes counts the nodes of one replica.
Settings with_own_nodes(Config config) {
  if (config.has("cluster", "nodes")) return config.resolve();
  if (Settings settings = config.resolve(); settings.stages() > 1) {
    settings.cluster.nodes = settings.stages();
    return settings;
  }
  config.set("cluster.nodes=1");
  return config.resolve();
}

Settings resolve_for_member(const Config& config) {
  const bool says_uneven = config.has("data", "uneven");
  Settings settings = with_own_nodes(config);
  if (settings.grid.weight == MemberWeight::equal && !says_uneven) settings.data.uneven = UnevenData::repeat;
  return settings;
}

// What all members of a run with this configuration share.
std::string shared_text(const Config& config) { return toml_without(with_own_nodes(config), members_keys()); }

void take_own(Config& config, const Config& own) {
  const Config run = config;
  for (const auto& [section, keys] : own.given())
    for (const auto& [key, value] : keys) {
      if (is_members_key(section + "." + key)) {
        config.set(section, key, value);
        continue;
      }
      Config changed = run;
      changed.set(section, key, value);
      if (shared_text(changed) != shared_text(run))
        throw RequestError(
            fmt::format("{}.{}={} would change the run of all: leave it out; a member may set {}", section,
                        key, to_toml(value), fmt::join(members_keys(), ", ")));
    }
}

// For keys that a person gives; the config.toml of a run always has cluster.nodes.
void check_members_stages(const Config& config, const Settings& settings) {
  if (settings.stages() > 1 && config.has("cluster", "nodes"))
    throw RequestError(
        "pipeline.stages with cluster.nodes cannot be used where members come and go; each member has one "
        "stage: "
        "leave out cluster.nodes");
}

}  // namespace

std::string SharedConfig::text() const {
  return nlohmann::json{{"config", toml}, {"data", data.text()}, {"own_path", own_path}, {"run", run}}.dump();
}

SharedConfig SharedConfig::of(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {json.at("config"), DataTraits::of(json.at("data")), json.at("own_path"), json.value("run", "")};
  } catch (const nlohmann::json::exception&) {
    throw RequestError("the configuration of the run is damaged, or of another version of Veche");
  }
}

Settings founders_settings(const Config& config) {
  Settings settings = resolve_for_member(config);
  check_members_stages(config, settings);
  return settings;
}

Settings members_own_settings(const Config& own) {
  Config config;
  for (const auto& [section, keys] : own.given())
    for (const auto& [key, value] : keys)
      if (is_members_key(section + "." + key)) config.set(section, key, value);
  return resolve_for_member(config);
}

SharedConfig shared_config(const Settings& settings, const DataTraits& data, const std::string& run) {
  return {toml_without(settings, members_keys()), data,
          !settings.brings_data && !settings.data.path.empty() && !settings.data.name, run};
}

Settings newcomers_settings(const SharedConfig& shared, const Config& own) {
  Config config = Config::from_text(shared.toml, "the configuration of the run");
  take_own(config, own);
  if (shared.own_path && !config.has("data", "path"))
    throw RequestError(
        "the run trains on data that each member has itself: set data.path to the folder of yours");
  Settings settings = resolve_for_member(config);
  check_members_stages(config, settings);
  settings.data.vocabulary = shared.data.vocabulary;
  return settings;
}

std::string members_name(const Settings& settings) {
  if (auto given = settings.grid.name; !given.empty()) return given;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

Settings returned_settings(const std::filesystem::path& run, const Config& own) {
  Config config = Config::from_file(RunFolder::open(run).config());
  take_own(config, own);
  Settings settings = resolve_for_member(config);
  if (is_text(settings.data)) settings.data.vocabulary = vocabulary_of(RunFolder::open(run));
  return settings;
}

void set_shared_rules(const Settings& settings, grid::GridOptions& options) {
  options.approve = settings.grid.admit == Admission::approved;
  options.fork = settings.grid.partition == CutOff::fork;
}

grid::GridOptions grid_options(const Settings& settings) {
  grid::GridOptions options;
  options.name = members_name(settings);
  options.nodes = settings.is_cut() ? 1 : static_cast<std::uint32_t>(settings.nodes());
  options.slots = settings.cluster.slots;
  options.listen = settings.grid.listen;
  options.addresses = settings.grid.address;
  options.relay = settings.grid.relay;
  options.multicast = settings.grid.multicast;
  options.upnp = settings.grid.upnp;
  options.dht = settings.grid.dht;
  set_shared_rules(settings, options);
  return options;
}

}  // namespace veche
