// `veche doctor`: what this installation can do, what it lacks, and a test of itself.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/doctor/findings.h"
#include "cli/terminal/output.h"
#include "veche/base/machine/machine.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Section {
  std::string title, key;
  std::vector<Finding> findings;
};

std::string state_word(Finding::State state) {
  switch (state) {
    case Finding::State::works:
      return "works";
    case Finding::State::missing:
      return "missing";
    case Finding::State::broken:
      return "broken";
  }
  return "";
}

Json section_json(const Section& section) {
  Json list = Json::array();
  for (const Finding& each : section.findings) {
    Json line{{"what", each.what}, {"state", state_word(each.state)}, {"detail", each.detail}};
    if (!each.remedy.empty()) line["remedy"] = each.remedy;
    list.push_back(std::move(line));
  }
  return list;
}

void print_section(const Section& section) {
  answer("\n{}\n", section.title);
  for (const Finding& each : section.findings) {
    answer("  {:<8} {:<38} {}\n", state_word(each.state), each.what, one_line(each.detail));
    if (!each.remedy.empty()) answer("  {:<8} {:<38} {}\n", "", "", each.remedy);
  }
}

std::size_t count_broken(const std::vector<Section>& sections) {
  std::size_t broken = 0;
  for (const Section& section : sections)
    broken += static_cast<std::size_t>(
        std::ranges::count(section.findings, Finding::State::broken, &Finding::state));
  return broken;
}

std::size_t examine_all(bool json) {
  const std::vector<MachineFact> machine = machine_facts();
  const std::vector<Section> sections{{"Modules", "modules", check_modules()},
                                      {"Around it", "surroundings", check_surroundings()},
                                      {"Test of itself", "self_test", test_itself()}};
  const std::size_t broken = count_broken(sections);
  if (json) {
    Json all{{"version", version()}, {"commit", commit()}, {"broken", broken}};
    for (const MachineFact& fact : machine) all["machine"][fact.name] = fact.json;
    for (const Section& section : sections) all[section.key] = section_json(section);
    answer_json(all);
    return broken;
  }
  answer("Veche {}, commit {}\n\nMachine\n", version(), commit());
  for (const MachineFact& fact : machine) answer("  {:<22} {}\n", fact.name, one_line(fact.text));
  for (const Section& section : sections) print_section(section);
  answer("\n{}\n", broken == 0 ? "Nothing is broken. What is missing is needed for its commands alone."
                               : fmt::format("{} broken: see above.", broken));
  return broken;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("doctor", "Tell what this installation can do and lacks, and test it");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print one JSON object");
  command->callback([json, &exit_code] { exit_code = examine_all(*json) == 0 ? 0 : kFailed; });
}

}  // namespace veche::cli
