#pragma once

#include <cstdint>
#include <vector>

#include "veche/settings.h"

namespace veche {

// The key data.class_weights for classes with this many training samples each. Balanced weights
// give each class the same sum and each sample 1 on average. Empty: the key is absent, so all weigh
// 1. Throws RequestError.
std::vector<float> class_weights(const DataSettings& settings, const std::vector<std::uint64_t>& counts);

}  // namespace veche
