#include "cli/arguments/unknown_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "veche/base/text/nearest.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/registry.h"

namespace veche::cli {
namespace {

// The configuration keys with the name of an option: optimizer.lr for --lr.
std::vector<std::string> keys_called(std::string name) {
  std::ranges::replace(name, '-', '_');
  std::vector<std::string> found;
  for (const SectionSpec& section : sections())
    for (const KeySpec& key : section.keys)
      if (key.name == name) found.push_back(section.name + "." + key.name);
  for (const StrategyInfo& info : strategies())
    if (std::ranges::find(info.keys, name, &KeySpec::name) != info.keys.end()) {
      found.push_back("strategy." + name);
      break;
    }
  for (const SectionSpec& section : sections())  // --optimizer adam
    if (section.name == name && std::ranges::find(section.keys, "name", &KeySpec::name) != section.keys.end())
      found.push_back(name + ".name");
  if (name == "strategy") found.emplace_back("strategy.name");
  return found;
}

// Such as "; did you mean '--json'?". Compares names without their dashes.
std::string near_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const std::string bare = name.substr(0, name.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& one : option->get_lnames()) known.push_back(one);
  // A key of exactly this name is a better guess than any option.
  if (command.get_option_no_throw("--set") != nullptr)
    if (const auto keys = keys_called(bare); !keys.empty())
      return fmt::format("; write --set {}=..{}", keys.front(),
                         keys.size() > 1 ? fmt::format(" or --set {}=..", keys[1]) : "");
  if (const std::string near = nearest(bare, known); !near.empty())
    return fmt::format("; did you mean '--{}'?", near);
  for (std::string& one : known) one.insert(0, "--");
  return suggestion(word, known);
}

}  // namespace

std::string describe_unknown_argument(const CLI::App& app, const std::string& message) {
  const CLI::App* command = &app;  // the innermost subcommand that was given
  std::string name;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += (name.empty() ? "" : " ") + command->get_name();
  }
  for (; command != nullptr; command = command->get_parent()) {
    const auto left = command->remaining();
    if (left.empty()) {
      name = name.substr(0, name.find_last_of(' ') == std::string::npos ? 0 : name.find_last_of(' '));
      continue;
    }
    const std::string& word = left.front();
    if (word.starts_with('-'))
      return fmt::format("`veche{}{}` has no {}{}", name.empty() ? "" : " ", name, word,
                         near_option(*command, word));
    std::vector<std::string> known;
    for (const CLI::App* part : command->get_subcommands({}))
      if (!part->get_group().empty()) known.push_back(part->get_name());  // the others are hidden
    if (name.empty()) return fmt::format("there is no command '{}'{}", word, suggestion(word, known));
    return fmt::format("`veche {}` has no {}{}", name, word, known.empty() ? "" : suggestion(word, known));
  }
  return message;
}

}  // namespace veche::cli
