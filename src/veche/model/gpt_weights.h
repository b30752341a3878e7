#pragma once

#include <string>
#include <vector>

#include "veche/learner.h"
#include "veche/model/safetensors.h"

namespace veche {

// Files of a GPT's weights come in a few forms: GPT-2 as published leaves out the "transformer." of
// every name and stores the causal mask of each layer; Hugging Face's may repeat the embedding as
// "lm_head.weight", and has biases, of zero, where the model has none. Brings the tensors of such a
// file to the form of a model with these parameters: renames, and removes what tells nothing.
// Leaves other files and models alone.
void accept_published_gpt(Safetensors& file, const std::vector<TensorLayout>& parameters,
                          const std::string& origin);

}  // namespace veche
