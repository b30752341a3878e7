#pragma once

#include <CLI/CLI.hpp>

namespace veche::cli {

// The commands of `veche data`, each in its own file.
void add_data_fetch(CLI::App& data);
void add_data_inspect(CLI::App& data);
void add_data_ls(CLI::App& data);
void add_data_pack(CLI::App& data);
void add_data_split(CLI::App& data);

}  // namespace veche::cli
