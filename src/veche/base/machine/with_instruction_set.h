#pragma once

#include <string>

#include "veche/base/machine/instruction_set.h"

namespace veche {

// For tests: selects an instruction set while this object lives; then restores the best one.
class WithInstructionSet {
 public:
  explicit WithInstructionSet(const std::string& name) { use_instruction_set(name); }
  ~WithInstructionSet() { use_instruction_set(instruction_sets().front()); }
  WithInstructionSet(const WithInstructionSet&) = delete;
  WithInstructionSet& operator=(const WithInstructionSet&) = delete;
};

}  // namespace veche
