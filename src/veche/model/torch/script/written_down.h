#pragma once

#include "veche/model/operators.h"
#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// The network with the numbers that it has, as libtorch's tracer sees a pass of plain operations through it.
// Its layers must not have been given to a learner. Throws RequestError for what ONNX has no words for.
OperatorGraph written_down(Network& network, const ModelSpec& spec);

}  // namespace veche::torch_model
