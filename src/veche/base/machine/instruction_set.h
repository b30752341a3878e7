#pragma once

#include <string>
#include <vector>

namespace veche {

// Loops over long vectors are compiled for several instruction sets (base/machine/each_target.h) and the best
// one that the processor has is used: one binary is fast everywhere. Equal runs leave equal bytes with the
// same one.

// Those that this processor has, best first: "avx512", "avx2", "sse4", "plain".
std::vector<std::string> instruction_sets();
// The one in use.
std::string instruction_set();
// From now on this one of instruction_sets(). Not while a loop runs.
void use_instruction_set(const std::string& name);

}  // namespace veche
