#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veche/base/module_api.h"
#include "veche/settings.h"

namespace veche {

// The size of a GPT: a transformer that predicts the next token.
struct GptSize {
  int layers = 0;
  int heads = 0;    // of attention in each layer; divides the width
  int width = 0;    // floats per token between the layers
  int context = 0;  // the most tokens it sees
  bool bias = false;
  bool tied = true;  // the output layer uses the embedding of the tokens

  bool operator==(const GptSize&) const = default;
};

// "gpt", which has the size of gpt-nano unless its keys say otherwise, and the named sizes.
std::vector<std::string> gpt_names();

// The size of the model that [model] names, changed by its keys; nullopt for another kind of model.
// Throws RequestError if the keys do not fit each other.
VECHE_MODULE_API std::optional<GptSize> gpt_size(const ModelSettings& model);

}  // namespace veche
