#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "veche/base/cut_files.h"
#include "veche/base/errors.h"
#include "veche/base/nearest.h"

namespace {

using veche::cli::kFailed;
using veche::cli::kWrongRequest;

int say(const std::string& sentence, int code) {
  fmt::print(stderr, "veche: {}\n", sentence);
  return code;
}

// CLI11 tells that something was left over; people want to know what was meant.
std::string about_leftovers(const CLI::App& app, const std::string& message) {
  for (const CLI::App* chosen : app.get_subcommands()) {
    const auto left = chosen->remaining();
    if (left.empty()) continue;
    std::vector<std::string> known;
    for (const CLI::App* part : chosen->get_subcommands({})) known.push_back(part->get_name());
    if (known.empty())
      for (const CLI::Option* option : chosen->get_options()) known.push_back(option->get_name());
    return fmt::format("`veche {}` has no {}{}", chosen->get_name(), left.front(),
                       veche::suggestion(left.front(), known));
  }
  const auto left = app.remaining();
  if (left.empty()) return message;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  return fmt::format("there is no command '{}'{}", left.front(), veche::suggestion(left.front(), known));
}

}  // namespace

int main(int argc, char** argv) {
  veche::explain_cut_files();
  CLI::App app{"Veche trains one neural network on many nodes that agree with each other."};
  app.name("veche");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", VECHE_VERSION);
  int exit_code = 0;
  veche::cli::add_train(app, exit_code);
  veche::cli::add_data(app);
  veche::cli::add_model(app);
  veche::cli::add_bench(app);
  veche::cli::add_topology(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) fmt::print("{}", app.help());
    return exit_code;
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ExtrasError& error) {
    return say(about_leftovers(app, error.what()), kWrongRequest);
  } catch (const CLI::RequiredError& error) {  // of a command's own command, when another word stands there
    return say(about_leftovers(app, error.what()), kWrongRequest);
  } catch (const CLI::ParseError& error) {
    return say(error.what(), kWrongRequest);
  } catch (const veche::RequestError& error) {
    return say(error.what(), kWrongRequest);
  } catch (const std::exception& error) {
    return say(error.what(), kFailed);
  }
}
