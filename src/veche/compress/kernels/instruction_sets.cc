#include "veche/compress/kernels/instruction_sets.h"

#include <hwy/highway.h>

#include <stdexcept>

namespace veche::kernels {
namespace {

void use_targets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

OnlyInstructionSet::OnlyInstructionSet(const std::string& name) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    use_targets(target);
    return;
  }
  throw std::logic_error("this machine does not have " + name);
}

OnlyInstructionSet::~OnlyInstructionSet() { use_targets(0); }

}  // namespace veche::kernels
