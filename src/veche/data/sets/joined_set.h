#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "veche/data/sets/pixel_set.h"

namespace veche {

// Several sets one after the other as one: first all samples of the first part. All must have the same shape.
struct JoinedPart {
  std::shared_ptr<const Dataset> data;
  std::vector<std::int64_t> labels;  // what its labels are called in the whole
};

// A set of images when all parts are, normalised by what all their pixels together need; else one of floats.
// Throws std::invalid_argument when shapes differ or there is no part.
std::shared_ptr<const Dataset> join(std::vector<JoinedPart> parts, int classes);

}  // namespace veche
