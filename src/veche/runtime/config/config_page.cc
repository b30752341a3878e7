#include "veche/runtime/config/config_page.h"

#include <fmt/format.h>

#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

template <class Keys>
std::string keys_table(const Keys& keys) {
  std::string text = "| key | default | meaning |\n|---|---|---|\n";
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

std::string config_page() {
  std::string page =
      "# Configuration\n\nMade by `veche train --keys`; a test compares. A file in TOML; every key also as "
      "`--set section.key=value`. "
      "A key without a default may be absent.\n";
  for (const SectionSpec& section : sections())
    page += fmt::format("\n## [{}]\n\n{}", section.name, keys_table(section.keys));
  page += "\n## [strategy]\n\n`name` chooses one; the default is `consensus`. Each has keys of its own.\n";
  for (const StrategyInfo& info : strategies())
    page += fmt::format("\n### {}\n\n{}\n{}", info.name, info.rule,
                        info.keys.empty() ? "" : "\n" + keys_table(info.keys));
  return page;
}

}  // namespace veche
