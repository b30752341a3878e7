#include "veche/comm/grid/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/arguments/shorthands.h"
#include "cli/commands.h"
#include "cli/grid/grid_run.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/errors.h"
#include "veche/runtime/config/quantity.h"

namespace veche::cli {
namespace {

// The longest validity of a warrant (docs/grid-protocol.md).
constexpr std::chrono::seconds kLongestInvitation = std::chrono::hours(24 * 3650);

struct AskArguments {
  std::string run, member, expires = "24h";
  std::uint32_t uses = 5;
  std::string admit;
  bool json = false;
};

void print_members(const AskArguments& arguments) {
  if (!arguments.admit.empty()) grid::admit_by(arguments.run, arguments.admit);
  const grid::Status status = grid::status_of(arguments.run);
  std::uint64_t step = status.first_step;
  for (const grid::MemberStatus& one : status.members) step = std::max(step, one.step);
  if (arguments.json) {
    auto members = nlohmann::ordered_json::array();
    for (const grid::MemberStatus& one : status.members)
      members.push_back({{"id", grid::hex(one.member.id)},
                         {"name", one.member.name},
                         {"seat", one.seat},
                         {"address", one.address},
                         {"since", one.since},
                         {"step", one.step},
                         {"speed", one.member.speed},
                         {"state", one.state},
                         {"round_trip", one.round_trip},
                         {"sent", one.sent},
                         {"received", one.received}});
    answer_json(nlohmann::ordered_json{{"view", status.view}, {"step", step}, {"members", members}});
    return;
  }
  Table table({"member", "name", "seat", "step", "targets/s", "state", "address", "round trip"});
  for (const grid::MemberStatus& one : status.members)
    table.row({grid::short_name(one.member.id), one.member.name,
               one.seat < 0 ? "-" : std::to_string(one.seat), with_commas(one.step),
               fmt::format("{:.0f}", one.member.speed), one.state, one.address,
               fmt::format("{:.1f} ms", 1000 * one.round_trip)});
  answer("view {}, step {}\n{}", status.view, with_commas(step), table.text());
}

void print_invitation(const AskArguments& arguments) {
  grid::Terms terms;
  terms.uses = arguments.uses;
  const double seconds = read_duration("--expires", Value{arguments.expires});
  if (seconds < 1 || seconds > kLongestInvitation.count())
    throw RequestError(fmt::format("--expires = {} is out of range: give a time from 1s to {}d, such as 2h",
                                   arguments.expires, kLongestInvitation / std::chrono::hours(24)));
  terms.valid = std::chrono::seconds(static_cast<std::int64_t>(seconds));
  const std::string invitation = grid::invite_by(arguments.run, terms);
  if (arguments.json)
    answer_json(nlohmann::ordered_json{
        {"invitation", invitation}, {"uses", terms.uses}, {"seconds", terms.valid.count()}});
  else
    answer("{}\n", invitation);
}

void revoke_member(const AskArguments& arguments) {
  grid::revoke_by(arguments.run, arguments.member);
  if (arguments.json)
    answer_json(nlohmann::ordered_json{{"revoked", arguments.member}});
  else
    tell("{} takes no part any more.\n", arguments.member);
}

void add_training_options(CLI::App* command, const std::shared_ptr<GridArguments>& arguments) {
  command->add_option("--set", arguments->assignments, "section.key=value, any number of times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option_function<std::string>(
      "--name",
      [arguments](const std::string& name) { arguments->assignments.push_back("grid.name=" + name); },
      "name of this member (grid.name); default: the host name");
  command->add_flag("--json", arguments->json, "print the summary as one JSON object on standard output");
  command->add_flag("-q,--quiet", arguments->quiet, "show no progress and no table");
}

CLI::App* add_question(CLI::App* grid, const std::string& name, const std::string& what,
                       const std::shared_ptr<AskArguments>& arguments) {
  CLI::App* command = grid->add_subcommand(name, what);
  command->add_option("RUN", arguments->run, "the run's folder on this machine")
      ->type_name("RUN")
      ->required();
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  return command;
}

}  // namespace

void add_grid(CLI::App& app, int& exit_code) {
  CLI::App* const grid = app.add_subcommand(
      "grid", "Train on machines that join and leave, over encrypted links, without a server");
  grid->require_subcommand(1);

  auto start = std::make_shared<GridArguments>();
  CLI::App* command =
      grid->add_subcommand("start", "Start a run and train; prints an invitation for other machines");
  command->add_option("CONFIG", start->config, "a TOML file")->type_name("FILE");
  add_training_options(command, start);
  add_shorthands(*command, start->assignments);
  command->callback([start, &exit_code] { exit_code = run_grid_start(*start); });

  auto join = std::make_shared<GridArguments>();
  command = grid->add_subcommand("join", "Join a run with an invitation, or rejoin one");
  command->add_option("INVITATION", join->invitation, "VECHE1-..., from a member");
  command->add_option("--resume", join->resume, "rejoin the run in this folder")->type_name("RUN");
  command->add_flag("--force", join->force,
                    "with --resume: continue although most members of the last view are gone");
  add_training_options(command, join);
  command->callback([join, &exit_code] { exit_code = run_grid_join(*join); });

  auto invite = std::make_shared<AskArguments>();
  command = add_question(grid, "invite", "Make an invitation", invite);
  command->add_option("--uses", invite->uses, "number of machines that may join with it")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--expires", invite->expires, "validity, such as 2h");
  command->callback([invite] { print_invitation(*invite); });

  auto members = std::make_shared<AskArguments>();
  command = add_question(grid, "members", "List the members: step, speed, state, address", members);
  command->add_option("--admit", members->admit, "admit the machine that waits (grid.admit = \"approved\")");
  command->callback([members] { print_members(*members); });

  auto revoke = std::make_shared<AskArguments>();
  command = add_question(grid, "revoke", "Remove a member: all members close their links to it", revoke);
  command->add_option("MEMBER", revoke->member, "the first digits of its id")->required();
  command->callback([revoke] { revoke_member(*revoke); });
}

}  // namespace veche::cli
