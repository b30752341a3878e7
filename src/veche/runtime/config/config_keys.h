#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/config.h"
#include "veche/key_spec.h"
#include "veche/options.h"

namespace veche {

// A key of a section that Veche declares, and the member of Settings that it fills.
struct SectionKey : KeySpec {
  std::function<void(Settings& settings, const Value& value)> fill;
  // The member as a value; none: the key is absent.
  std::function<std::optional<Value>(const Settings& settings)> value;
  // Whether the member holds what `value` says: 1 and 1.0 are the same where the key is a number.
  std::function<bool(const Settings& settings, const Value& value)> holds;

  bool members_own = false;  // on a grid each member chooses it for itself; the others do not see it
  bool may_change = false;   // when a run is resumed
  bool of_run = false;       // of [model]: how a run begins or computes; exported models are without it
  // Words that shells offer where the set of values is open: names with numbers, and names from
  // modules.
  std::function<std::vector<std::string>()> words;
};

// How Settings::to_toml writes a section.
struct SectionText {
  std::function<bool(const Settings& settings)> is_used = {};  // written only then; empty: always
  bool only_changed = false;      // written only if a key differs from its default
  bool follows_strategy = false;  // [strategy] comes before it
};

struct SectionSpec {
  std::string name;
  std::vector<SectionKey> keys;
  SectionText text = {};
};

// Every section but [strategy], whose keys depend on the strategy's name. The one place where keys,
// their checks and their descriptions are written down.
const std::vector<SectionSpec>& sections();
// The key "section.name"; null: no section has it. Strategies, and models and data sets that a
// program has registered, have keys of their own.
const SectionKey* find_key(std::string_view name);
// The names "section.name" of all keys with this flag.
std::vector<std::string> keys_with(bool SectionKey::*flag);
// Of sections(): `name` is one of them.
const SectionSpec& find_section(std::string_view name);

// The values of one section, checked against `keys` and completed with defaults. Throws
// RequestError naming section.key, what is wrong and the nearest valid choice.
Options checked(const std::string& section, const std::map<std::string, Value, std::less<>>& given,
                const std::vector<KeySpec>& keys);

// How a value reads in TOML.
std::string to_toml(const Value& value);

}  // namespace veche
