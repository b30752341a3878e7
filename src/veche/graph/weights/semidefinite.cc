#include "veche/graph/weights/semidefinite.h"

#include "veche/errors.h"

namespace veche {
namespace {

void check(int code) {
  if (code != 0) throw RunError("the semidefinite solver DSDP failed with code " + std::to_string(code));
}

}  // namespace

SemidefiniteProgram::SemidefiniteProgram(int variables) : variables_(variables) {
  check(DSDPCreate(variables, &solver_));
}

SemidefiniteProgram::~SemidefiniteProgram() { DSDPDestroy(solver_); }

SDPCone SemidefiniteProgram::add_semidefinite(int blocks) {
  SDPCone cone = nullptr;
  check(DSDPCreateSDPCone(solver_, blocks, &cone));
  return cone;
}

LPCone SemidefiniteProgram::add_linear() {
  LPCone cone = nullptr;
  check(DSDPCreateLPCone(solver_, &cone));
  return cone;
}

void SemidefiniteProgram::keep_nonnegative(int count) {
  BCone cone = nullptr;
  check(DSDPCreateBCone(solver_, &cone));
  check(BConeAllocateBounds(cone, count));
  for (int i = 1; i <= count; ++i) check(BConeSetLowerBound(cone, i, 0.0));
}

std::vector<double> SemidefiniteProgram::minimise_last(std::span<const double> start) {
  for (int i = 0; i < variables_; ++i) {
    check(DSDPSetDualObjective(solver_, i + 1, i + 1 == variables_ ? -1.0 : 0.0));
    check(DSDPSetY0(solver_, i + 1, start[static_cast<std::size_t>(i)]));
  }
  check(DSDPSetR0(solver_, 0));             // the start is feasible: no phase one
  check(DSDPSetYBounds(solver_, -10, 10));  // useful mixing weights are far from these bounds
  check(DSDPSetGapTolerance(solver_, 1e-9));
  check(DSDPSetPotentialParameter(solver_, 4));
  check(DSDPSetup(solver_));
  check(DSDPSolve(solver_));
  check(DSDPComputeX(solver_));
  std::vector<double> answer(static_cast<std::size_t>(variables_));
  check(DSDPGetY(solver_, answer.data(), variables_));
  return answer;
}

}  // namespace veche
