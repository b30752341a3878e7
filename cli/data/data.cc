// `veche data`: the data sets.
#include "cli/commands.h"
#include "cli/data/data_commands.h"

namespace veche::cli {

void add_data(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "Data sets: list, download, inspect, pack, split");
  command->require_subcommand(1);
  add_data_ls(*command);
  add_data_fetch(*command);
  add_data_inspect(*command);
  add_data_pack(*command);
  add_data_split(*command);
}

}  // namespace veche::cli
