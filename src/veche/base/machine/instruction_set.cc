#include "veche/base/machine/instruction_set.h"

#include <hwy/highway.h>

#include <algorithm>
#include <stdexcept>

namespace veche {
namespace {

struct Target {
  std::int64_t bit;  // Highway's target bit; better sets have lower values
  const char* name;
};

constexpr Target kTargets[] = {
#if HWY_ARCH_X86
    {HWY_AVX3, "avx512"},
    {HWY_AVX2, "avx2"},
    {HWY_SSE4, "sse4"},
#endif
    {HWY_STATIC_TARGET, "plain"},  // the compiler's baseline
};

std::vector<std::string> names_of(std::int64_t supported) {
  std::vector<std::string> names;
  for (const Target& target : kTargets)
    if ((supported & target.bit) != 0 || target.bit == HWY_STATIC_TARGET) names.emplace_back(target.name);
  return names;
}

}  // namespace

std::vector<std::string> instruction_sets() {
  static const std::int64_t processors = hwy::SupportedTargets();  // captured before any target is disabled
  return names_of(processors);
}

std::string instruction_set() { return names_of(hwy::SupportedTargets()).front(); }

void use_instruction_set(const std::string& name) {
  if (std::ranges::count(instruction_sets(), name) == 0)
    throw std::logic_error("instruction set '" + name + "' is not one of this processor");
  const Target& target = *std::ranges::find(kTargets, name, &Target::name);
  hwy::DisableTargets(target.bit - 1);
}

}  // namespace veche
