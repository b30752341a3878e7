#include "veche/runtime/config/settings_values.h"

#include <algorithm>

namespace veche {
namespace {

bool is_default(const SectionSpec& section, const Options& values) {
  const Settings defaults;
  return values.all() == values_of(defaults, section).all();
}

bool is_written(const Settings& settings, const SectionSpec& section, const Options& values) {
  if (section.text.only_changed) return !is_default(section, values);
  return !section.text.is_used || section.text.is_used(settings);
}

Options without(const Options& values, const std::string& section, const std::vector<std::string>& left_out) {
  Options kept;
  for (const auto& [key, value] : values.all())
    if (std::ranges::find(left_out, section + "." + key) == left_out.end()) kept.set(key, value);
  return kept;
}

std::string section_text(const std::string& name, const Options& values) {
  std::string text = "[" + name + "]\n";
  for (const auto& [key, value] : values.all()) text += key + " = " + to_toml(value) + "\n";
  return text;
}

}  // namespace

void fill_section(Settings& settings, const SectionSpec& section, Options values) {
  for (const SectionKey& key : section.keys)
    if (values.has(key.name)) key.fill(settings, values.at(key.name));
  settings.written.insert_or_assign(section.name, std::move(values));
}

Options values_of(const Settings& settings, const SectionSpec& section) {
  const auto written = settings.written.find(section.name);
  auto values = written == settings.written.end() ? Value::Table{} : written->second.all();
  for (const SectionKey& key : section.keys) {
    const auto given = values.find(key.name);
    if (given != values.end() && key.holds(settings, given->second)) continue;
    if (auto value = key.value(settings))
      values.insert_or_assign(key.name, std::move(*value));
    else
      values.erase(key.name);
  }
  return Options(std::move(values));
}

std::string Settings::to_toml() const { return toml_without(*this, {}); }

std::string toml_without(const Settings& settings, const std::vector<std::string>& left_out) {
  std::string text;
  const auto add = [&](const std::string& name, const Options& values) {
    text += (text.empty() ? "" : "\n") + section_text(name, without(values, name, left_out));
  };
  for (const SectionSpec& section : sections()) {
    if (section.text.follows_strategy) add("strategy", settings.strategy);
    const Options values = values_of(settings, section);
    if (is_written(settings, section, without(values, section.name, left_out))) add(section.name, values);
  }
  return text;
}

}  // namespace veche
