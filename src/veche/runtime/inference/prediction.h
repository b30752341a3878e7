#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "veche/runtime/inference/model_input.h"

namespace veche {

// Classes by falling probability, of equal ones the first; at most so many.
std::vector<std::size_t> ranked(std::span<const float> probabilities, std::size_t most);

// What `veche predict` and `veche serve` answer of one picture: class, label and probability of the best, and
// the same of the `most` best under "classes".
nlohmann::ordered_json prediction_json(const ModelInput& input, std::span<const float> probabilities,
                                       std::size_t most);

}  // namespace veche
