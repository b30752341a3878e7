#pragma once

#include <dsdp/dsdp5.h>

#include <span>
#include <vector>

namespace veche {

// DSDP for programmes of one shape: make the last variable as small as can be, within cones that the caller
// fills through DSDP's own functions. What those functions are given must outlive this object. One thread at
// a time.
class SemidefiniteProgram {
 public:
  explicit SemidefiniteProgram(int variables);
  ~SemidefiniteProgram();
  SemidefiniteProgram(const SemidefiniteProgram&) = delete;
  SemidefiniteProgram& operator=(const SemidefiniteProgram&) = delete;

  SDPCone add_semidefinite(int blocks);
  LPCone add_linear();
  // The first `count` variables must be at least 0.
  void keep_nonnegative(int count);

  // From a strictly feasible point to the best one. The dual of each cone can be read afterwards. DSDP
  // sometimes stops for a numerical reason with the right answer: judge by the answer, not by a code.
  std::vector<double> minimise_last(std::span<const double> start);

 private:
  int variables_;
  DSDP solver_ = nullptr;
};

}  // namespace veche
