#include "cli/topology_commands.h"

namespace veche::cli {

void add_topology_recommend(CLI::App&) {}

}  // namespace veche::cli
