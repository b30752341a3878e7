#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "veche/comm/grid/grid.h"
#include "veche/config.h"
#include "veche/runtime/plan/data_traits.h"

namespace veche {

// The settings of one member of a grid run: which keys all members share, which each member chooses
// for itself, and what the grid makes of them. `assignments` are "section.key=value"; a key that a
// member may not choose is a RequestError.

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

// The founder's settings: a file, or "" for none, and single keys, all of which it may choose.
Settings founders_settings(const std::string& file, const std::vector<std::string>& assignments);
// The settings that a newcomer knows before it has joined: the keys it chooses for itself.
Settings members_own_settings(const std::vector<std::string>& assignments);
// A newcomer's settings: the run's, and the keys it chooses for itself.
Settings newcomers_settings(const SharedConfig& shared, const std::vector<std::string>& assignments);
// The settings of a member that comes back with its run's folder.
Settings returned_settings(const std::filesystem::path& run, const std::vector<std::string>& assignments);

// The name of this member, for people: grid.name, or the host's name.
std::string members_name(const Settings& settings);

// How this member takes part in the run.
grid::GridOptions grid_options(const Settings& settings);
// The part of it that all members share; a newcomer learns it when it joins.
void set_shared_rules(const Settings& settings, grid::GridOptions& options);

}  // namespace veche
