#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <limits>

#include "veche/base/module_api.h"
#include "veche/errors.h"
#include "veche/model/onnx/onnx_file.h"

namespace veche {
namespace {

constexpr int kFileVersion = 7;  // IR version that matches operator set 13

void describe(onnx::ValueInfoProto& value, const std::string& name, const std::vector<int>& extents,
              onnx::TensorProto::DataType of = onnx::TensorProto::FLOAT) {
  value.set_name(name);
  onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(of);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (const int extent : extents) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

void write(onnx::TensorProto& to, const OperatorTensor& tensor) {
  to.set_name(tensor.name);
  for (const std::int64_t extent : tensor.shape) to.add_dims(extent);
  std::visit(
      [&](const auto& numbers) {
        using Number = typename std::decay_t<decltype(numbers)>::value_type;
        to.set_data_type(std::is_same_v<Number, float> ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
        to.set_raw_data(numbers.data(), numbers.size() * sizeof(Number));
      },
      tensor.numbers);
}

struct Write {
  onnx::AttributeProto& to;

  void operator()(std::int64_t value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(float value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(values.begin(), values.end());
  }
};

void write(onnx::NodeProto& to, const Operator& step) {
  to.set_op_type(step.type);
  to.set_name(step.outputs.front());
  for (const std::string& name : step.inputs) to.add_input(name);
  for (const std::string& name : step.outputs) to.add_output(name);
  for (const auto& [name, value] : step.attributes) {
    onnx::AttributeProto& attribute = *to.add_attribute();
    attribute.set_name(name);
    std::visit(Write{attribute}, value);
  }
}

onnx::ModelProto model_of(const OperatorGraph& graph, const std::string& version) {
  onnx::ModelProto model;
  model.set_ir_version(kFileVersion);
  model.set_producer_name("veche");
  model.set_producer_version(version);
  model.add_opset_import()->set_version(OperatorGraph::kVersion);
  for (const auto& [key, value] : graph.notes) {
    onnx::StringStringEntryProto& note = *model.add_metadata_props();
    note.set_key(key);
    note.set_value(value);
  }
  onnx::GraphProto& to = *model.mutable_graph();
  to.set_name("veche");
  const Shape& sample = graph.sample;
  if (graph.task == Task::language) {
    describe(*to.add_input(), graph.input, {sample.channels}, onnx::TensorProto::INT64);
    describe(*to.add_output(), graph.output, {sample.channels, graph.classes});
  } else {
    describe(*to.add_input(), graph.input, {sample.channels, sample.height, sample.width});
    describe(*to.add_output(), graph.output, {graph.classes});
  }
  for (const OperatorTensor& tensor : graph.constants) write(*to.add_initializer(), tensor);
  for (const Operator& step : graph.operators) write(*to.add_node(), step);
  return model;
}

// Throws std::exception if the graph is not valid ONNX.
void check(onnx::ModelProto& model) {
  onnx::checker::check_model(model);
  onnx::ShapeInferenceOptions strictly;
  strictly.check_type = true;
  strictly.error_mode = 1;
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strictly);
  model.mutable_graph()->clear_value_info();  // readers infer these shapes themselves
}

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API void veche_write_onnx(const veche::OperatorGraph& graph,
                                                  const std::string& version, std::string& bytes) {
  onnx::ModelProto model = veche::model_of(graph, version);
  if (model.ByteSizeLong() > std::numeric_limits<int>::max())
    throw veche::RequestError("the model is too large for an ONNX file, which has at most 2 GiB");
  try {
    veche::check(model);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw veche::RunError("ONNX's checker refuses the model: " + text.substr(0, text.find('\n')));
  }
  if (!model.SerializeToString(&bytes)) throw veche::RunError("the ONNX file cannot be put together");
}
