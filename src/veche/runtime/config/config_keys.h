#pragma once

#include <string>
#include <vector>

#include "veche/key_spec.h"
#include "veche/options.h"

namespace veche {

struct SectionSpec {
  std::string name;
  std::vector<KeySpec> keys;
};

// Every section but [strategy], whose keys depend on the strategy's name. The one place where keys, their
// defaults and their limits are written down.
const std::vector<SectionSpec>& sections();

// The values of one section, checked against `keys` and completed with defaults. Throws RequestError naming
// section.key, what is wrong and the nearest valid choice.
Options checked(const std::string& section, const std::map<std::string, Value, std::less<>>& given,
                const std::vector<KeySpec>& keys);

// How a value reads in TOML.
std::string to_toml(const Value& value);

}  // namespace veche
