#include "cli/process/isa.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "veche/base/machine/instruction_set.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

constexpr char kVariable[] = "VECHE_ISA";

// The names used by oneDNN, libtorch and OpenBLAS; null: no limit.
struct Limits {
  const char* name;
  const char* onednn;
  const char* libtorch;
  const char* openblas;
};
constexpr Limits kLimits[] = {
    {"avx512", "AVX512_CORE", nullptr, nullptr},
    {"avx2", "AVX2", "avx2", "Haswell"},
    {"sse4", "SSE41", "default", "Nehalem"},
    {"plain", "SSE41", "default", "Prescott"},  // their lowest setting
};

void set(const char* variable, const char* value) {
  if (value != nullptr) setenv(variable, value, /*overwrite=*/1);
}

}  // namespace

void limit_instructions(const std::string& name, const std::string& asked_by) {
  const std::vector<std::string> known = instruction_sets();
  if (std::ranges::count(known, name) == 0) {
    std::string all;
    for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
    throw RequestError(asked_by + " asks for '" + name + "', but this processor has " + all +
                       suggestion(name, known));
  }
  use_instruction_set(name);
  set(kVariable, name.c_str());
  for (const Limits& limits : kLimits) {
    if (limits.name != name) continue;
    set("ONEDNN_MAX_CPU_ISA", limits.onednn);
    set("ATEN_CPU_CAPABILITY", limits.libtorch);
    set("OPENBLAS_CORETYPE", limits.openblas);
  }
}

void limit_instructions_by_environment() {
  if (const char* name = std::getenv(kVariable); name != nullptr && *name != '\0')
    limit_instructions(name, kVariable);
}

}  // namespace veche::cli
