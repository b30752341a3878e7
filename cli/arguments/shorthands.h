#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

namespace veche::cli {

// An option that stands for a configuration key: --epochs 2 is --set run.epochs=2.
struct Shorthand {
  const char* option;
  const char* key;
  const char* type;  // as the help shows it
};

inline constexpr Shorthand kShorthands[] = {
    {"--epochs", "run.epochs", "NUMBER"},   {"--steps", "run.steps", "NUMBER"},
    {"--nodes", "cluster.nodes", "NUMBER"}, {"--seed", "run.seed", "NUMBER"},
    {"--name", "run.name", "NAME"},         {"--out", "run.out", "DIR"}};

// Adds those options that the command does not have yet. Their values go to the end of
// `assignments`, which `--set` fills: add that option first. A key that --set sets as well is
// refused.
void add_shorthands(CLI::App& command, std::vector<std::string>& assignments,
                    std::span<const Shorthand> shorthands = kShorthands);

// Moves the configuration file from the words of an option that takes many, as in `--set a.b=1
// my.toml`, to `config`. Throws RequestError where `config` is given already.
void take_config(std::vector<std::string>& words, std::string& config);

}  // namespace veche::cli
