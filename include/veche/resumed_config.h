#pragma once

#include <filesystem>

#include "veche/config.h"
#include "veche/export.h"

namespace veche {

// The configuration of the run in `folder`, for a Run with RunOptions::resume, with `changes` on
// top. Throws RequestError for a key that would make it another run: a resumed run may become
// longer, be measured more often or move to other machines, nothing else.
VECHE_API Config resumed_config(const std::filesystem::path& folder, const Config& changes);

}  // namespace veche
