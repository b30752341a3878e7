#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/runtime/run/grid_training.h"

namespace veche::cli {

// What the founder of a run gives to all who join it: its configuration without what is each member's own,
// and what their data must be like.
struct SharedConfig {
  std::string toml;
  DataTraits data;
  bool own_path = false;  // the data have no name: each member must say where its own are
  std::string run;        // the founder's name for it

  std::string text() const;
  static SharedConfig of(const std::string& text);
};

// A founder's settings: a file and single keys.
Settings founders_settings(const std::string& file, const std::vector<std::string>& assignments);
// All that a newcomer knows before it has joined: what it may choose for itself.
Settings members_own_settings(const std::vector<std::string>& assignments);
SharedConfig shared_config(const Settings& settings, const DataTraits& data, const std::string& run);
// A newcomer's: the run's, and what it may choose for itself. Throws RequestError for other keys.
Settings newcomers_settings(const SharedConfig& shared, const std::vector<std::string>& assignments);
// The name of this member, for people: grid.name, or the host's.
std::string members_name(const Settings& settings);
// Of one who comes back with its folder.
Settings returned_settings(const std::filesystem::path& run, const std::vector<std::string>& assignments);

}  // namespace veche::cli
