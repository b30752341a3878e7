// `veche data`: what can be trained on.
#include "cli/commands.h"
#include "cli/data_commands.h"

namespace veche::cli {

void add_data(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "Data sets: how they are divided");
  command->require_subcommand(1);
  add_data_split(*command);
}

}  // namespace veche::cli
