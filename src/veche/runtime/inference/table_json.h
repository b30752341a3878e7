#pragma once

#include <nlohmann/json_fwd.hpp>

#include "veche/data/table/scheme.h"

namespace veche {

// The scheme of a table as it is saved with a model, and the sums that sites send to each other.
// The readers throw nlohmann::json::exception or RequestError for anything that the writers have
// not written.
nlohmann::json scheme_json(const TableScheme& scheme);
TableScheme scheme_of_json(const nlohmann::json& json);
nlohmann::json sums_json(const TableSums& sums);
TableSums sums_of_json(const nlohmann::json& json);

}  // namespace veche
