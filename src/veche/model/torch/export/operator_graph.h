#pragma once

#include "veche/model/operators.h"
#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// The network with its current values as ONNX operators, from a libtorch trace of plain operations.
// Its layers must not belong to a learner. Throws RequestError for operations without an ONNX form.
OperatorGraph operator_graph(Network& network, const ModelSpec& spec);

}  // namespace veche::torch_model
