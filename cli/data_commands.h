#pragma once

#include <CLI/CLI.hpp>

namespace veche::cli {

// The commands of `veche data`, each in its own file.
void add_data_split(CLI::App& data);

}  // namespace veche::cli
