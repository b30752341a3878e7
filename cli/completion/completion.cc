#include <set>

#include "cli/commands.h"
#include "cli/completion/completion_scripts.h"
#include "cli/completion/completion_values.h"
#include "cli/terminal/output.h"
#include "veche/errors.h"

namespace veche::cli {

namespace {

// The cursor's position in the tree of commands, after the preceding words.
struct Cursor {
  const CLI::App* command;
  std::size_t positionals = 0;           // positional arguments before the cursor
  const CLI::Option* waiting = nullptr;  // the option whose value comes next
};

const CLI::App* subcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* each : app.get_subcommands({}))
    if (each->get_name() == name) return each;
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

Cursor walk(const CLI::App& app, std::span<const std::string> words) {
  Cursor cursor{&app};
  for (const std::string& word : words) {
    const bool dashed = word.size() > 1 && word.front() == '-';
    if (cursor.waiting != nullptr && !(dashed && cursor.waiting->get_items_expected_min() == 0)) {
      cursor.waiting = nullptr;
    } else if (dashed) {
      const CLI::Option* option = cursor.command->get_option_no_throw(word);
      cursor.waiting = option != nullptr && takes_value(*option) ? option : nullptr;
    } else if (const CLI::App* next = subcommand(*cursor.command, word)) {
      cursor = {next};
    } else {
      ++cursor.positionals;
    }
  }
  return cursor;
}

// The positional argument at this position; a repeatable last one takes all that follow.
const CLI::Option* positional(const CLI::App& command, std::size_t place) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    if (place-- == 0) return option;
    last = option;
  }
  return last != nullptr && last->get_items_expected_max() > 1 ? last : nullptr;
}

void add_options(const CLI::App& command, const std::string& typed, std::vector<Candidate>& found) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (("--" + name).starts_with(typed)) found.push_back({"--" + name, option->get_description()});
}

// `words`: all arguments of the program; the last one is being typed and may be empty.
std::vector<Candidate> candidates(const CLI::App& app, std::span<const std::string> words) {
  const std::string& typed = words.back();
  const Cursor cursor = walk(app, words.first(words.size() - 1));
  if (cursor.waiting != nullptr) return value_candidates(cursor.waiting->get_type_name(), typed, words);
  std::vector<Candidate> found;
  if (const auto equals = typed.find('='); typed.starts_with("--") && equals != std::string::npos) {
    const CLI::Option* option = cursor.command->get_option_no_throw(typed.substr(0, equals));
    if (option == nullptr) return {};
    found = value_candidates(option->get_type_name(), typed.substr(equals + 1), words);
    for (Candidate& each : found)
      if (!each.word.starts_with('@')) each.word = typed.substr(0, equals + 1) + each.word;
    return found;
  }
  if (typed.starts_with('-')) {
    add_options(*cursor.command, typed, found);
    return found;
  }
  if (const CLI::Option* option = positional(*cursor.command, cursor.positionals))
    found = value_candidates(option->get_type_name(), typed, words);
  if (cursor.positionals == 0)
    for (const CLI::App* each : cursor.command->get_subcommands({}))
      if (!each->get_group().empty() && each->get_name().starts_with(typed))
        found.push_back({each->get_name(), each->get_description()});
  return found;
}

void print_candidates(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  std::set<std::string> told;  // strategies share keys
  for (const Candidate& each : candidates(app, words))
    if (told.insert(each.word).second) answer("{}\t{}\n", each.word, one_line(each.what));
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Shell completion of commands, options and keys");
  command->group("");  // for shells and packages, hidden from people
  command->require_subcommand(1);
  for (const CompletionScript& script : completion_scripts())
    command->add_subcommand(script.shell, "Print the completion script for " + script.shell)
        ->callback([&script] { answer_text(script.text); });
  CLI::App* words = command->add_subcommand(
      "words",
      "Print the candidates at the cursor, given the words of the command so far, the last one incomplete");
  words->set_help_flag();
  words->prefix_command();
  words->callback([&app, words] { print_candidates(app, words->remaining()); });
}

}  // namespace veche::cli
