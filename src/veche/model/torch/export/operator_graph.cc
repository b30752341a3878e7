#include "veche/model/torch/export/operator_graph.h"

#include <torch/csrc/jit/frontend/tracer.h>

#include "veche/errors.h"
#include "veche/model/torch/export/translator.h"
#include "veche/model/torch/library/threads.h"

namespace veche::torch_model {

OperatorGraph operator_graph(Network& network, const ModelSpec& spec) {
  use_one_thread();
  at::NoGradGuard guard;
  std::map<const void*, std::string> names;
  for (auto& item : network.named_parameters()) {
    item.value().set_requires_grad(false);  // the tracer treats only such tensors as constants
    names[item.value().data_ptr()] = item.key();
  }
  for (const auto& item : network.named_buffers()) names[item.value().data_ptr()] = item.key();

  const Shape& input = spec.input;
  const bool text = spec.task == Task::language;
  const at::Tensor samples =
      text ? at::zeros({Translator::kSamples, input.channels}, at::kLong)
           : at::zeros({Translator::kSamples, input.channels, input.height, input.width});
  const auto pass_through = [&](torch::jit::Stack inputs) -> torch::jit::Stack {
    Pass pass{false, RandomStream(0, "trace")};
    return {network.forward(inputs.at(0).toTensor(), pass)};
  };
  const auto unnamed = [](const at::Tensor&) { return std::string(); };
  const auto traced =
      torch::jit::tracer::trace({samples}, pass_through, unnamed, /*strict=*/true, /*force_outplace=*/true);

  OperatorGraph graph;
  graph.sample = input;
  graph.task = spec.task;
  if (text) graph.input = "tokens";
  graph.classes = spec.classes;
  try {
    Translator(graph, std::move(names)).translate(*traced.first->graph);
  } catch (const RequestError& error) {
    throw RequestError("model.name: '" + spec.name + "' cannot be written as ONNX: " + error.what());
  }
  return graph;
}

}  // namespace veche::torch_model
