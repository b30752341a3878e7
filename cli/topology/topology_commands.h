#pragma once

#include <CLI/CLI.hpp>

namespace veche::cli {

void add_topology_compare(CLI::App& topology);
void add_topology_recommend(CLI::App& topology);

}  // namespace veche::cli
