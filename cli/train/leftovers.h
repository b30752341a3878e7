#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace veche::cli {

// One sentence about the first word that no command took: what is wrong with it, and what was probably meant.
// `message` is what to say when nothing was left over.
std::string about_leftovers(const CLI::App& app, const std::string& message);

}  // namespace veche::cli
