#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche {

// Runs a program to its end, with more variables in its environment, and returns the JSON object that it
// prints in a line of its own. Throws RunError with its last words when it fails or is gone for `minutes`.
nlohmann::json run_program(std::vector<std::string> words, const std::vector<std::string>& environment = {},
                           int minutes = 15);

// "mpirun -np N" with what a machine with fewer cores than ranks needs.
std::vector<std::string> mpirun(int ranks);

// This program's own path, to be started by launchers.
std::string own_path();

}  // namespace veche
