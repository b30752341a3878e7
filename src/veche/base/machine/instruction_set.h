#pragma once

#include <string>
#include <vector>

namespace veche {

// Vector loops are compiled for several instruction sets (base/machine/each_target.h), and the best
// one that the processor supports is used. Equal runs give equal bytes on the same instruction set.

// The sets this processor supports, best first: "avx512", "avx2", "sse4", "plain".
std::vector<std::string> instruction_sets();
// The set in use.
std::string instruction_set();
// Selects one of instruction_sets(). Must not be called while a loop runs.
void use_instruction_set(const std::string& name);

}  // namespace veche
