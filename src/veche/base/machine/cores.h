#pragma once

#include <filesystem>

#include "veche/base/module_api.h"

namespace veche {

// CPU quota of this process in cores, from cgroup v1 or v2: the lowest of its group and the
// ancestors; infinite without a limit. `groups` is the mount point of the cgroup file systems and
// `membership` the file that names the process's own group. Unreadable files impose no limit.
VECHE_MODULE_API double core_quota(const std::filesystem::path& groups = "/sys/fs/cgroup",
                                   const std::filesystem::path& membership = "/proc/self/cgroup");

// Cores this process may use: its CPU affinity (taskset), limited by its CPU quota rounded up
// (containers, systemd, batch systems). Divided by `processes` if that many processes share the
// cores. At least one.
VECHE_MODULE_API int usable_cores(int processes = 1, double quota = core_quota());

}  // namespace veche
