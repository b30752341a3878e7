#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "veche/data/sets/damage.h"
#include "veche/data/sets/image_set.h"

namespace veche {

// FOLDER/NAME, or FOLDER/NAME.gz if only that exists.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder, std::string_view name);

// Grey images and labels from a pair of IDX files (the MNIST format), optionally compressed with
// gzip (docs/data-internals.md). Throws RequestError naming the file: missing, truncated, damaged,
// of another kind, or longer than its header says. Reports to `policy`: different numbers of labels
// and images, a label not below `classes`. Plain files are mapped, so only the images accessed are
// read. Compressed files are unpacked into memory, once for all `processes` of this host.
Samples read_idx(const std::filesystem::path& images, const std::filesystem::path& labels, int classes,
                 const DamagePolicy& policy = {}, int processes = 1);

}  // namespace veche
