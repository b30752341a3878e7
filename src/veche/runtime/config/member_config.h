#pragma once

#include <filesystem>
#include <string>

#include "veche/comm/grid/grid.h"
#include "veche/config.h"
#include "veche/runtime/config/data_traits.h"

namespace veche {

// The settings of one member of a grid run: which keys all members share, which each member chooses
// for itself, and what the grid makes of them. `own` is the configuration that a member brings; a
// key in it that would change the run of all members is a RequestError. Keys that repeat the run's
// own values change nothing, so all members may start with the same configuration.

// What the founder gives to every member that joins: the configuration without the keys that each
// member chooses for itself, and what the members' data must have in common.
struct SharedConfig {
  std::string toml;
  DataTraits data;
  bool own_path = false;  // the data have no name: each member must give data.path
  std::string run;        // the founder's name for the run

  // The text form; `of` throws RequestError if the text is damaged.
  std::string text() const;
  static SharedConfig of(const std::string& text);
};
SharedConfig shared_config(const Settings& settings, const DataTraits& data, const std::string& run);

// The founder's settings: it may choose every key.
Settings founders_settings(const Config& config);
// The settings that a newcomer knows before it has joined: the keys it chooses for itself. Other
// keys are checked when the run is known, by `newcomers_settings`.
Settings members_own_settings(const Config& own);
// A newcomer's settings: the run's, and the keys it chooses for itself.
Settings newcomers_settings(const SharedConfig& shared, const Config& own);
// The settings of a member that comes back with its run's folder.
Settings returned_settings(const std::filesystem::path& run, const Config& own);

// The name of this member, for people: grid.name, or the host's name.
std::string members_name(const Settings& settings);

// How this member takes part in the run.
grid::GridOptions grid_options(const Settings& settings);
// The part of it that all members share; a newcomer learns it when it joins.
void set_shared_rules(const Settings& settings, grid::GridOptions& options);

}  // namespace veche
