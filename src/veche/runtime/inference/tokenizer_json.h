#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "veche/data/text/tokenizer.h"

namespace veche {

// A tokenizer in the files and messages of a run: {"kind": "characters", "symbols": ".."}.
nlohmann::json tokenizer_json(const Tokenizer& tokenizer);
// Throws nlohmann::json::exception or RequestError for anything else.
std::shared_ptr<const Tokenizer> tokenizer_of(const nlohmann::json& json);

}  // namespace veche
