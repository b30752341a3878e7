#pragma once

#include <dsdp/dsdp5.h>

#include <span>
#include <vector>

namespace veche {

// DSDP for programmes that minimise the last variable within cones. The caller fills the cones
// through DSDP's own functions; the arrays passed to them must outlive this object. One thread at a
// time.
class SemidefiniteProgram {
 public:
  explicit SemidefiniteProgram(int variables);
  ~SemidefiniteProgram();
  SemidefiniteProgram(const SemidefiniteProgram&) = delete;
  SemidefiniteProgram& operator=(const SemidefiniteProgram&) = delete;

  SDPCone add_semidefinite(int blocks);
  LPCone add_linear();
  // Constrains the first `count` variables to be at least 0.
  void keep_nonnegative(int count);

  // Solves from a strictly feasible start. The dual of each cone can be read afterwards. DSDP
  // sometimes stops for a numerical reason with the right answer: judge the answer, not a code.
  std::vector<double> minimise_last(std::span<const double> start);

 private:
  int variables_;
  DSDP solver_ = nullptr;
};

}  // namespace veche
