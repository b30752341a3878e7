#include "veche/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "veche/base/files/read_text.h"
#include "veche/base/text/nesting.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::uintmax_t kLargestConfig = 16 << 20;  // with lists for many nodes

Value from_toml(const toml::node& node, const std::string& where) {
  if (const auto* value = node.as_boolean()) return {value->get()};
  if (const auto* value = node.as_integer()) return {value->get()};
  if (const auto* value = node.as_floating_point()) return {value->get()};
  if (const auto* value = node.as_string()) return {value->get()};
  if (const auto* array = node.as_array()) {
    Value::List list;
    for (const toml::node& item : *array) list.push_back(from_toml(item, where));
    return {std::move(list)};
  }
  if (const auto* table = node.as_table()) {
    Value::Table items;
    for (const auto& [key, item] : *table)
      items.emplace(std::string(key.str()), from_toml(item, where + "." + std::string(key.str())));
    return {std::move(items)};
  }
  throw RequestError(where + " must be a number, a word, true, false or a list");
}

}  // namespace

Config Config::from_file(const std::filesystem::path& file) {
  return from_text(read_text(file, "the configuration " + file.string(), kLargestConfig), file.string());
}

Config Config::from_text(std::string_view text, const std::string& origin) {
  toml::table table;
  try {
    check_toml_nesting(text);
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw RequestError(fmt::format("{} line {}: {}", origin, error.source().begin.line, error.description()));
  } catch (const RequestError& error) {
    throw RequestError(origin + " " + error.what());
  }
  Config config;
  for (const auto& [section, node] : table) {
    const std::string name(section.str());
    const auto* keys = node.as_table();
    if (keys == nullptr)
      throw RequestError(
          fmt::format("{}: '{}' stands outside a section; write it as section.key", origin, name));
    for (const auto& [key, value] : *keys)
      config.sections_[name].insert_or_assign(std::string(key.str()),
                                              from_toml(value, name + "." + std::string(key.str())));
  }
  return config;
}

void Config::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::size_t dot = assignment.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos)
    throw RequestError(fmt::format("--set {} is not of the form section.key=value", assignment));
  const std::string section(assignment.substr(0, dot));
  const std::string key(assignment.substr(dot + 1, equals - dot - 1));
  const std::string text(assignment.substr(equals + 1));
  Value value{text};
  try {
    check_toml_nesting(text);
    const toml::table parsed = toml::parse("value = " + text);
    if (parsed.size() == 1) value = from_toml(*parsed.get("value"), section + "." + key);
  } catch (const toml::parse_error&) {
    // A word without quotes, such as ring:4.
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("--set {}.{}: {}", section, key, error.what()));
  }
  set(section, key, std::move(value));
}

void Config::set(std::string_view section, std::string_view key, Value value) {
  sections_[std::string(section)].insert_or_assign(std::string(key), std::move(value));
}

bool Config::has(std::string_view section, std::string_view key) const {
  const auto found = sections_.find(section);
  return found != sections_.end() && found->second.contains(key);
}

}  // namespace veche
