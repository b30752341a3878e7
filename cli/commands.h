#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace veche::cli {

constexpr int kFailed = 1;
constexpr int kWrongRequest = 2;

// Each command registers itself with its options; the selected command runs inside the parse. A
// command throws the library's errors, and main turns them into a sentence and an exit code.
// `exit_code` is for outcomes that are neither success nor error.
void add_train(CLI::App& app, int& exit_code);
void add_simulate(CLI::App& app, int& exit_code);
void add_data(CLI::App& app);
void add_model(CLI::App& app);
void add_bench(CLI::App& app);
void add_topology(CLI::App& app);
void add_grid(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_generate(CLI::App& app);
void add_serve(CLI::App& app);
void add_report(CLI::App& app);
void add_watch(CLI::App& app);
void add_doctor(CLI::App& app, int& exit_code);
void add_examples(CLI::App& app);
void add_completion(CLI::App& app);

// The benchmarks of `veche bench`.
std::vector<std::string> bench_names();
// The examples of `veche examples`; empty if they are not installed.
std::vector<std::string> example_names();

}  // namespace veche::cli
