#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "veche/resumed_config.h"

namespace veche {

// The same for the words of `--set`, "section.key=value".
Config resumed_config(const std::filesystem::path& folder, const std::vector<std::string>& assignments);

}  // namespace veche
