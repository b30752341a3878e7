#include "cli/arguments/shorthands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"

namespace veche::cli {
namespace {

const KeySpec& spec_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  const auto section = std::ranges::find(sections(), key.substr(0, dot), &SectionSpec::name);
  return *std::ranges::find(section->keys, key.substr(dot + 1), &KeySpec::name);
}

bool sets(std::string_view assignment, std::string_view key) {
  return assignment.starts_with(key) && assignment.substr(key.size()).starts_with('=');
}

// Has the form section.key=value; the key may be wrong.
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && std::ranges::all_of(word.substr(0, equals), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

bool is_config(const std::string& word) {
  if (is_assignment(word)) return false;
  std::error_code ignored;
  return word.ends_with(".toml") || std::filesystem::is_regular_file(word, ignored);
}

}  // namespace

void add_shorthands(CLI::App& command, std::vector<std::string>& assignments,
                    std::span<const Shorthand> shorthands) {
  for (const Shorthand& one : shorthands) {
    if (command.get_option_no_throw(one.option) != nullptr) continue;
    const KeySpec& key = spec_of(one.key);
    const bool text = key.kind == KeySpec::Kind::text;
    const auto assign = [one, text, &assignments](const std::string& word) {
      for (const std::string& given : assignments)
        if (sets(given, one.key))
          throw RequestError(
              fmt::format("{} {} and --set {} say the same thing twice; keep one", one.option, word, given));
      assignments.push_back(fmt::format("{}={}", one.key, text ? to_toml(Value{word}) : word));
    };
    command
        .add_option_function<std::string>(one.option, assign,
                                          fmt::format("{}; short for --set {}=..", key.help, one.key))
        ->type_name(one.type);
  }
}

void take_config(std::vector<std::string>& words, std::string& config) {
  std::erase_if(words, [&](const std::string& word) {
    if (!is_config(word)) return false;
    if (!config.empty())
      throw RequestError(
          fmt::format("there are two configurations, {} and {}; give one of them", config, word));
    config = word;
    return true;
  });
}

}  // namespace veche::cli
