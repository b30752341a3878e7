#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche::cli {

// The result of one check of `veche doctor`.
struct Finding {
  enum class State { works, missing, broken };

  std::string what;  // "neural networks"
  State state = State::works;
  std::string detail = {};  // what was found, or why it does not work
  std::string remedy = {};  // what to do about it; empty where it works
};

// Whether each module can be loaded, in a process of its own: a damaged library may end it. A module
// that this build does not have is missing. So is a module without its library if Veche's package
// only recommends that library.
std::vector<Finding> check_modules();

// Programs, packages and data sets that commands use when they are there: launchers of MPI jobs,
// the package for Python, the images of the demo.
std::vector<Finding> check_surroundings();

// Four nodes minimise a sum of parabolas whose minimum is known; with neural networks, two nodes
// make a step of a small one and must then hold equal models. About a second.
std::vector<Finding> test_itself();

// The processor, what this process may use of it, memory and limits.
struct MachineFact {
  std::string name;  // "cores"
  std::string text;  // for people
  nlohmann::ordered_json json;
};
std::vector<MachineFact> machine_facts();

}  // namespace veche::cli
