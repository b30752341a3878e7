#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "veche/config.h"

namespace veche {

// The configuration of the run in `folder`, changed by `assignments` ("section.key=value"). Throws
// RequestError for a key that would make it another run: a resumed run may become longer, be
// measured more often or move to other machines, nothing else.
Config resumed_config(const std::filesystem::path& folder, const std::vector<std::string>& assignments);

}  // namespace veche
