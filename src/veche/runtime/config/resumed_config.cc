#include "veche/runtime/config/resumed_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {
namespace {

struct KeyRule {
  std::string_view key;  // section.key, or section. for all keys of a section
  bool may_change;
};

// The first rule that fits a key decides; a key without a rule may not change.
constexpr std::array kResumeRules{KeyRule{"run.seed", false},     KeyRule{"run.name", false},
                                  KeyRule{"run.out", false},      KeyRule{"run.", true},
                                  KeyRule{"cluster.nodes", true}, KeyRule{"cluster.transport", true},
                                  KeyRule{"cluster.slots", true}, KeyRule{"model.threads", true},
                                  KeyRule{"topology.", true},     KeyRule{"pipeline.micro_batches", false},
                                  KeyRule{"pipeline.", true}};

bool may_change(std::string_view key) {
  const auto* const rule = std::ranges::find_if(kResumeRules, [&](const KeyRule& one) {
    return one.key.ends_with('.') ? key.starts_with(one.key) : key == one.key;
  });
  return rule != kResumeRules.end() && rule->may_change;
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
    if (!may_change(assignment.substr(0, assignment.find('=')))) refuse("--set " + assignment);
    config.set(assignment);
  }
  return config;
}

Config resumed_config(const std::filesystem::path& folder, const Config& changes) {
  Config config = Config::from_file(RunFolder::open(folder).config());
  for (const auto& [section, keys] : changes.given())
    for (const auto& [key, value] : keys) {
      const std::string name = section + "." + key;
      if (!may_change(name)) refuse(name + " = " + to_toml(value));
      config.set(section, key, value);
    }
  return config;
}

}  // namespace veche
