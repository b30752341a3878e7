#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche {

// One line of compare.json: the means over the runs of a variant, given by their summaries. The
// deviation of the main measure is over these runs; of a single run, over its nodes.
nlohmann::ordered_json variant_summary(const std::string& variant,
                                       const std::vector<nlohmann::ordered_json>& runs);

}  // namespace veche
