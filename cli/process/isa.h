#pragma once

#include <string>

namespace veche::cli {

// Limits the instruction set of this process and its children: of our own loops, and of libraries,
// which read their limits from the environment when they are loaded. Must be called before any
// module is loaded and before other threads start. Throws RequestError, naming `asked_by`, if the
// processor does not support the set.
void limit_instructions(const std::string& name, const std::string& asked_by);

// Applies the variable VECHE_ISA, if set, so that runs on different machines do the same
// arithmetic.
void limit_instructions_by_environment();

}  // namespace veche::cli
