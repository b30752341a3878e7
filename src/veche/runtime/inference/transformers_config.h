#pragma once

#include <filesystem>
#include <string>

#include "veche/runtime/inference/model_input.h"

namespace veche {

// What Hugging Face's Transformers reads beside a GPT-2's weights to build the model: config.json.
// `model_keys`: the section [model] of the run. Empty: the model is no GPT.
std::string transformers_config(const std::string& model_keys, const ModelInput& input,
                                const std::string& version);

// Writes it beside a file of weights that has the name which Transformers looks for,
// model.safetensors. Returns a sentence where a config.json that Veche did not write is there: it
// stays.
std::string write_transformers_config(const std::filesystem::path& weights, const std::string& config);

}  // namespace veche
