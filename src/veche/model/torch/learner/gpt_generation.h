#pragma once

#include <memory>

#include "veche/model/generation.h"
#include "veche/model/torch/zoo/gpt.h"

namespace veche::torch_model {

// An empty text of this network, whose parameters lie in main memory.
std::unique_ptr<Generation> make_gpt_generation(std::shared_ptr<const Gpt> network);

}  // namespace veche::torch_model
