#pragma once

#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/runtime/config/config_keys.h"

namespace veche {

// Between the structs of Settings and the values of a section.

// Fills the section's struct; `values` are checked.
void fill_section(Settings& settings, const SectionSpec& section, Options values);
// The section's present values, each written as it was given unless it has changed since; with the
// keys of models and data sets that a program has registered.
Options values_of(const Settings& settings, const SectionSpec& section);
// Settings::to_toml without the keys of `left_out`, such as "run.name".
std::string toml_without(const Settings& settings, const std::vector<std::string>& left_out);

}  // namespace veche
