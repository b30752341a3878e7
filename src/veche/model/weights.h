#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "veche/learner.h"
#include "veche/model/safetensors.h"

namespace veche {

// Parameters and buffers start as the file has them. Names and shapes must be the model's, all of them;
// num_batches_tracked, which a norm with a fixed momentum does not use, may be there or not. Throws
// RequestError naming the tensor, and leaves the learner as it was. `what` begins the sentence.
void load_weights(Learner& learner, const std::filesystem::path& safetensors,
                  const std::string& what = "model.init: ");
// The same for a stage of a model whose tensors are these.
void load_weights(Learner& stage, const std::filesystem::path& safetensors,
                  const std::vector<TensorLayout>& parameters, const std::vector<TensorLayout>& buffers,
                  const std::string& what = "model.init: ");

// Adds the tensors of a flat vector, in PyTorch's plain order whatever theirs is.
void add_tensors(SafetensorsWriter& writer, const std::vector<TensorLayout>& layout,
                 std::span<const float> flat);

}  // namespace veche
