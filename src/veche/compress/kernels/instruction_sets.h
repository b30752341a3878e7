#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veche::kernels {

// The instruction sets that kernels are compiled for and that this machine has, the one they use first.
std::vector<std::string> instruction_sets();

// Kernels use this one of them, in all threads, while it lives: for tests and measurements.
class OnlyInstructionSet {
 public:
  explicit OnlyInstructionSet(const std::string& name);
  ~OnlyInstructionSet();
  OnlyInstructionSet(const OnlyInstructionSet&) = delete;
  OnlyInstructionSet& operator=(const OnlyInstructionSet&) = delete;
};

}  // namespace veche::kernels
