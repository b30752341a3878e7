#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche {

// Runs a program to its end with additional environment variables and returns the JSON object that
// it prints on a line of its own. Throws RunError with the end of its output if it fails or takes
// longer than `minutes`.
nlohmann::json run_program(std::vector<std::string> words, const std::vector<std::string>& environment = {},
                           int minutes = 15);

// "mpirun -np N" with the flags needed when there are fewer cores than ranks.
std::vector<std::string> mpirun(int ranks);

// This program's own path, for launchers.
std::string own_path();

}  // namespace veche
