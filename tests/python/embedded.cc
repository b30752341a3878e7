// The conformance suite over strategies written in Python: conformance_test.cc in a program with an
// interpreter, whose registry is that of the extension.
#include <gtest/gtest.h>
#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/support/tested_strategies.h"

extern "C" PyObject* PyInit__veche();  // of python/extension/module.cc

namespace {

namespace py = pybind11;

// Strategies of own_parts.py that promise something else than the suite asserts.
constexpr std::array kOthers{"breaks",                   // raises
                             "remembers",                // adds noise whatever the rate
                             "python-async", "helped"};  // not repeatable, as hogwild

constexpr char kRegister[] = R"(
import sys
from veche import _veche
names, register = [], _veche.register_strategy

def note(declared):
    names.append(declared["name"])
    register(declared)

_veche.register_strategy = note
sys.path.insert(0, folder)
import own_parts
)";

std::vector<veche::StrategyInfo> strategies_in_python(const char* folder) {
  py::dict variables;
  variables["folder"] = folder;
  py::exec(kRegister, variables);
  std::vector<veche::StrategyInfo> found;
  for (const auto& name : variables["names"].cast<std::vector<std::string>>())
    if (std::ranges::find(kOthers, name) == kOthers.end()) found.push_back(veche::find_strategy(name));
  return found;
}

}  // namespace

// python_conformance_test FOLDER_OF_OWN_PARTS
int main(int argc, char** argv) {
  const py::scoped_interpreter interpreter;
  // In the place of the extension, which has a library and a registry of its own.
  py::module_::import("sys").attr("modules")["veche._veche"] =
      py::reinterpret_steal<py::object>(PyInit__veche());
  veche::testing::tested_strategies() = strategies_in_python(argv[argc - 1]);
  ::testing::InitGoogleTest(&argc, argv);
  const py::gil_scoped_release release;  // nodes are threads that take turns
  return RUN_ALL_TESTS();
}
