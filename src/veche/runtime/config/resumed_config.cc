#include "veche/runtime/config/resumed_config.h"

#include <string_view>

#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {
namespace {

// Keys of strategies, and of models and data sets that a program has registered, stay as they are.
// Throws RequestError where there is no such key.
bool may_change(const std::string& name, const Config& changed) {
  const SectionKey* const key = find_key(name);
  if (key == nullptr && !name.starts_with("strategy.")) changed.resolve();
  return key != nullptr && key->may_change;
}

[[noreturn]] void refuse(const std::string& change) {
  throw RequestError(change +
                     " would change the run that is resumed; only run.* keys for its length and measuring, "
                     "cluster.nodes, the topology and the stages may change");
}

}  // namespace

Config resumed_config(const std::filesystem::path& folder, const std::vector<std::string>& assignments) {
  Config config = Config::from_file(RunFolder::open(folder).config());
  for (const std::string& assignment : assignments) {
    Config changed = config;
    changed.set(assignment);
    if (!may_change(assignment.substr(0, assignment.find('=')), changed)) refuse("--set " + assignment);
    config = std::move(changed);
  }
  return config;
}

Config resumed_config(const std::filesystem::path& folder, const Config& changes) {
  Config config = Config::from_file(RunFolder::open(folder).config());
  for (const auto& [section, keys] : changes.given())
    for (const auto& [key, value] : keys) {
      const std::string name = section + "." + key;
      Config changed = config;
      changed.set(section, key, value);
      if (!may_change(name, changed)) refuse(name + " = " + to_toml(value));
      config = std::move(changed);
    }
  return config;
}

}  // namespace veche
