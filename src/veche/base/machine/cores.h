#pragma once

#include <filesystem>

#include "veche/base/module/module_api.h"

namespace veche {

// The cores' worth of time that the control groups of a process allow, version 1 or 2: the least of its group
// and those above; infinite where nothing limits it. `groups` is where the file systems of the groups are,
// `membership` the file that says which group is the process's own. Files that cannot be read limit nothing.
VECHE_MODULE_API double core_quota(const std::filesystem::path& groups = "/sys/fs/cgroup",
                                   const std::filesystem::path& membership = "/proc/self/cgroup");

// How many cores this process may use: those it is allowed to run on (taskset), and no more than the time
// that control groups give it (containers, systemd, batch systems), rounded up. Where it shares them with so
// many processes like it, its part. At least one.
VECHE_MODULE_API int usable_cores(int processes = 1, double quota = core_quota());

}  // namespace veche
