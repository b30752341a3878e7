#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "veche/data/sets/pixel_set.h"

namespace veche {

// Several sets concatenated into one. All must have the same shape and the same task.
struct JoinedPart {
  std::shared_ptr<const Dataset> data;
  std::vector<std::int64_t> labels = {};  // the part's labels in the whole set, if it has classes
};

// An image set if all parts are, normalised by the pooled statistics of all pixels; otherwise a set
// of floats or text. Throws std::invalid_argument if shapes or tasks differ or there is no part.
std::shared_ptr<const Dataset> join(std::vector<JoinedPart> parts, int classes);

}  // namespace veche
