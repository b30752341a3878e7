#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace veche::cli {

// A sentence about the first argument that no command takes: what is wrong with it, and what was
// probably meant. Returns `message` where there is no such argument.
std::string describe_unknown_argument(const CLI::App& app, const std::string& message);

}  // namespace veche::cli
