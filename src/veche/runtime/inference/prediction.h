#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "veche/runtime/inference/model_input.h"

namespace veche {

// At most `most` classes by falling probability; equal ones in their order.
std::vector<std::size_t> ranked(std::span<const float> probabilities, std::size_t most);

// The answer of `veche predict` and `veche serve` for one picture or row: class, label and
// probability of the best class, and of the `most` best ones under "classes"; of a model of numbers
// the "value".
nlohmann::ordered_json prediction_json(const ModelInput& input, std::span<const float> probabilities,
                                       std::size_t most);

}  // namespace veche
