#pragma once

#include <string>
#include <vector>

#include "veche/runtime/run/training.h"

namespace veche {

// A short training run without a folder, for measurements. `assignments` are section.key=value.
RunResult short_run(const std::vector<std::string>& assignments, RunObserver* observer = nullptr);

}  // namespace veche
