#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "cli/doctor/findings.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/cores.h"
#include "veche/base/machine/instruction_set.h"
#include "veche/base/machine/machine.h"
#include "veche/base/machine/memory.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

MachineFact limit(const std::string& name, __rlimit_resource resource, const std::string& option) {
  rlimit found{};
  if (::getrlimit(resource, &found) != 0 || found.rlim_cur == RLIM_INFINITY)
    return {name, "unlimited", nullptr};
  return {name, fmt::format("{} (ulimit {})", with_commas(found.rlim_cur), option), found.rlim_cur};
}

MachineFact instructions() {
  const std::vector<std::string> known = instruction_sets();
  return {"instruction set",
          fmt::format("{} of {}", instruction_set(), fmt::join(known, ", ")),
          {{"used", instruction_set()}, {"known", known}}};
}

MachineFact cores() {
  const double quota = core_quota();
  const int usable = usable_cores();
  if (std::isinf(quota))
    return {"cores", fmt::format("{} usable", usable), {{"usable", usable}, {"quota", nullptr}}};
  return {"cores",
          fmt::format("{} usable, by a quota of {:.3g}", usable, quota),
          {{"usable", usable}, {"quota", quota}}};
}

MachineFact memory() {
  const std::uint64_t available = available_memory();
  if (available == std::numeric_limits<std::uint64_t>::max()) return {"memory", "unknown", nullptr};
  return {"memory", bytes(static_cast<double>(available)) + " available", available};
}

}  // namespace

std::vector<MachineFact> machine_facts() {
  return {{"processor", processor_name(), processor_name()},
          instructions(),
          cores(),
          memory(),
          limit("address space", RLIMIT_AS, "-v"),
          limit("open files", RLIMIT_NOFILE, "-n"),
          limit("processes and threads", RLIMIT_NPROC, "-u")};
}

}  // namespace veche::cli
