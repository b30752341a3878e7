#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "veche/learner.h"
#include "veche/model/safetensors.h"

namespace veche {

// Loads parameters and buffers from a file. All names and shapes must match the model's;
// num_batches_tracked, which a norm with fixed momentum does not use, is optional. Throws
// RequestError naming the tensor and leaves the learner unchanged. `what` starts the sentence.
void load_weights(Learner& learner, const std::filesystem::path& safetensors,
                  const std::string& what = "model.init: ");
// The same for one stage of a model with these tensors.
void load_weights(Learner& stage, const std::filesystem::path& safetensors,
                  const std::vector<TensorLayout>& parameters, const std::vector<TensorLayout>& buffers,
                  const std::string& what = "model.init: ");

// Adds the tensors of a flat vector in row-major order.
void add_tensors(SafetensorsWriter& writer, const std::vector<TensorLayout>& layout,
                 std::span<const float> flat);

}  // namespace veche
