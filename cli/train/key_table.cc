#include "cli/train/key_table.h"

#include <fmt/format.h>

#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/registry.h"

namespace veche::cli {
namespace {

std::string table(const std::vector<KeySpec>& keys) {
  std::string text = "| key | default | what |\n|---|---|---|\n";
  for (const KeySpec& key : keys) {
    std::string choices;
    for (const std::string& choice : key.choices)
      choices += fmt::format("{}`{}`", choices.empty() ? ": " : ", ", choice);
    text += fmt::format("| `{}` | {} | {}{} |\n", key.name,
                        key.fallback ? "`" + to_toml(*key.fallback) + "`" : "", key.help, choices);
  }
  return text;
}

}  // namespace

std::string keys_page() {
  std::string page =
      "# Configuration\n\nMade by `veche train --keys`; a test compares. A file in TOML; every key also as "
      "`--set section.key=value`. "
      "A key without a default may be absent.\n";
  for (const SectionSpec& section : sections())
    page += fmt::format("\n## [{}]\n\n{}", section.name, table(section.keys));
  page += "\n## [strategy]\n\n`name` chooses one; the default is `consensus`. Each has keys of its own.\n";
  for (const StrategyInfo& info : strategies())
    page += fmt::format("\n### {}\n\n{}\n{}", info.name, info.rule,
                        info.keys.empty() ? "" : "\n" + table(info.keys));
  return page;
}

}  // namespace veche::cli
