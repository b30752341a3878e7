#include "cli/grid/grid_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "veche/errors.h"
#include "veche/runtime/record/run_folder.h"

namespace veche::cli {
namespace {

// What a member chooses for itself: the others do not see it.
constexpr std::array kMembersOwn{"run.out",        "run.name",      "data.path",     "data.folder",
                                 "data.workers",   "cluster.nodes", "cluster.slots", "model.threads",
                                 "model.device",   "grid.listen",   "grid.address",  "grid.relay",
                                 "grid.multicast", "grid.upnp",     "grid.dht",      "grid.name"};

bool is_members_own(std::string_view key) { return std::ranges::find(kMembersOwn, key) != kMembersOwn.end(); }

void set_own(Config& config, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    if (const std::string key = assignment.substr(0, assignment.find('=')); !is_members_own(key))
      throw RequestError(fmt::format("--set {} would change the run of all; a member may set {}", assignment,
                                     fmt::join(kMembersOwn, ", ")));
    config.set(assignment);
  }
}

// One process, one node, unless somebody wants more of them: how many the run has in all nobody can say. Of a
// model in stages it is one node, too: what is counted are those of a replica.
Settings with_own_nodes(Config config) {
  if (config.has("cluster", "nodes")) return config.resolve();
  if (Settings settings = config.resolve(); settings.stages() > 1) {
    settings.cluster.set("nodes", {std::int64_t{settings.stages()}});
    return settings;
  }
  config.set("cluster.nodes=1");
  return config.resolve();
}

Settings resolved(const Config& config) {
  const bool says_uneven = config.has("data", "uneven");
  Settings settings = with_own_nodes(config);
  if (settings.grid.get<std::string>("weight") == "equal" && !says_uneven)
    settings.data.set("uneven", {std::string("repeat")});
  return settings;
}

// What a person gives: config.toml of a run has a number.
void check_stages(const Config& config, const Settings& settings) {
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

Settings founders_settings(const std::string& file, const std::vector<std::string>& assignments) {
  Config config = file.empty() ? Config{} : Config::from_file(file);
  for (const std::string& assignment : assignments) config.set(assignment);
  Settings settings = resolved(config);
  check_stages(config, settings);
  return settings;
}

Settings members_own_settings(const std::vector<std::string>& assignments) {
  Config config;
  set_own(config, assignments);
  return resolved(config);
}

SharedConfig shared_config(const Settings& settings, const DataTraits& data, const std::string& run) {
  Settings shared = settings;
  for (const std::string_view key : kMembersOwn) {
    const std::string_view section = key.substr(0, key.find('.'));
    const std::string name(key.substr(key.find('.') + 1));
    Options& options = section == "run"       ? shared.run
                       : section == "data"    ? shared.data
                       : section == "cluster" ? shared.cluster
                       : section == "model"   ? shared.model
                                              : shared.grid;
    auto kept = options.all();
    kept.erase(name);
    options = Options(std::move(kept));
  }
  return {shared.to_toml(), data,
          !settings.brings_data && settings.data.has("path") && !settings.data.has("name"), run};
}

Settings newcomers_settings(const SharedConfig& shared, const std::vector<std::string>& assignments) {
  Config config = Config::from_text(shared.toml, "the configuration of the run");
  set_own(config, assignments);
  if (shared.own_path && !config.has("data", "path"))
    throw RequestError("the run trains on data that each member has itself: give --set data.path=FOLDER");
  Settings settings = resolved(config);
  check_stages(config, settings);
  return settings;
}

std::string members_name(const Settings& settings) {
  if (auto given = settings.grid.get<std::string>("name"); !given.empty()) return given;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

Settings returned_settings(const std::filesystem::path& run, const std::vector<std::string>& assignments) {
  Config config = Config::from_file(RunFolder::open(run).config());
  set_own(config, assignments);
  return resolved(config);
}

}  // namespace veche::cli
