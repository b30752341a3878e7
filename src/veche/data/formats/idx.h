#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "veche/data/sets/damage.h"
#include "veche/data/sets/image_set.h"

namespace veche {

// FOLDER/NAME, or FOLDER/NAME.gz when only that is there.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder, std::string_view name);

// Grey images and their labels from a pair of IDX files, the format of MNIST, packed with gzip or not
// (docs/data.md). Throws RequestError, one sentence naming the file: missing, truncated, damaged, of another
// kind, longer than its header says. To `policy` go: not as many labels as images, a label that is not below
// `classes`. Plain files are mapped: of the images only those that somebody looks at are read. Packed ones
// are unpacked into memory, once for the so many processes of this host that read them.
Samples read_idx(const std::filesystem::path& images, const std::filesystem::path& labels, int classes,
                 const DamagePolicy& policy = {}, int processes = 1);

}  // namespace veche
