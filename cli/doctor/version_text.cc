#include "cli/doctor/version_text.h"

#include <fmt/format.h>

#include "veche/base/machine/machine.h"
#include "veche/base/module/modules.h"

namespace veche::cli {

std::string version_text() {
  constexpr std::string_view kBefore = "veche_", kAfter = ".so";
  std::string names;
  for (const Module& module : modules::kAll) {
    if (!module_exists(module)) continue;
    std::string_view name = module.file;
    name.remove_prefix(kBefore.size());
    name.remove_suffix(kAfter.size());
    names += fmt::format(" {}", name);
  }
  return fmt::format("veche {}\ncommit {}\nmodules{}", version(), commit(), names.empty() ? " none" : names);
}

}  // namespace veche::cli
