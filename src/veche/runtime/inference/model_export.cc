#include "veche/runtime/inference/model_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/model/onnx/onnx_file.h"
#include "veche/model/weights.h"
#include "veche/runtime/inference/saved_model.h"
#include "veche/runtime/inference/trained_model.h"
#include "veche/runtime/inference/transformers_config.h"

namespace veche {
namespace {

// The path to write to.
std::filesystem::path check_place(const std::filesystem::path& out, const char* such_as) {
  namespace fs = std::filesystem;
  if (fs::is_directory(out))
    throw RequestError(
        fmt::format("{} is a folder; name a file, such as {}", out.string(), (out / such_as).string()));
  fs::path place = place_of(out);
  if (place.has_parent_path() && !fs::is_directory(place.parent_path()))
    throw RequestError(fmt::format("the folder {} does not exist", place.parent_path().string()));
  return place;
}

std::string node_word(const ExportRequest& request) {
  return request.node ? std::to_string(request.node->value) : "average";
}

// Makes raw pixels the input of the graph and normalises them first.
void take_pixels(OperatorGraph& graph, const Normalization& normalization) {
  const auto channels = static_cast<std::int64_t>(normalization.mean.size());
  std::vector<float> scale, shift;
  for (std::size_t c = 0; c < normalization.mean.size(); ++c) {
    scale.push_back(static_cast<float>(1 / (255 * normalization.deviation[c])));
    shift.push_back(static_cast<float>(-normalization.mean[c] / normalization.deviation[c]));
  }
  const std::string samples = std::exchange(graph.input, "pixels");
  graph.constants.push_back({"pixels.scale", {channels, 1, 1}, std::move(scale)});
  graph.constants.push_back({"pixels.shift", {channels, 1, 1}, std::move(shift)});
  graph.operators.insert(graph.operators.begin(), {{"Mul", {graph.input, "pixels.scale"}, {"pixels.scaled"}},
                                                   {"Add", {"pixels.scaled", "pixels.shift"}, {samples}}});
}

std::string what_comes_in(const ModelInput& input) {
  return !input.normalization        ? "samples as those of the data"
         : input.shape.channels == 3 ? "pixels from 0 to 255; red, green, blue"
                                     : "pixels from 0 to 255";
}

}  // namespace

ExportResult export_model(const ExportRequest& request) {
  const RunFolder run = RunFolder::open(request.run);
  const FoundModel found = newest_model(run, request.node);
  const RunLayout layout = layout_for(run, found.model);
  const std::filesystem::path place = check_place(request.out, "model.safetensors");

  SafetensorsWriter writer;
  std::string config;
  writer.note("format", "pt");  // what Python's readers look for
  writer.note("veche", request.version);
  writer.note("run", run.name());
  writer.note("model", layout.model);
  writer.note("step", std::to_string(found.step));
  writer.note("node", node_word(request));
  if (layout.input) {
    const std::string keys = portable_model_keys(run);
    config = transformers_config(keys, *layout.input, request.version);
    writer.note(kModelKeys, keys);
    writer.note(kModelInput, to_json(*layout.input).dump());
  }
  add_tensors(writer, layout.parameters, found.model.parameters);
  add_tensors(writer, layout.buffers, found.model.buffers);
  const auto parts = writer.parts();
  write_file(place, parts);
  const std::string foreign = write_transformers_config(place, config);

  ExportResult result{found.step, who_of(request.node, found.model.nodes, found.stages),
                      layout.parameters.size() + layout.buffers.size(), 0, found.notices};
  if (const std::string why = not_finite(found.model.parameters, found.model.buffers); !why.empty())
    result.notices.push_back(fmt::format("{} of step {} {}", result.who, result.step, why));
  if (!foreign.empty()) result.notices.push_back(foreign);
  for (const auto& part : parts) result.bytes += part.size();
  return result;
}

ExportResult export_onnx(const ExportRequest& request) {
  const TrainedModel model(request.run, request.node);
  const std::filesystem::path place = check_place(request.out, "model.onnx");
  OperatorGraph graph = model.operators();
  const ModelInput& input = model.input();
  if (input.normalization) take_pixels(graph, *input.normalization);
  nlohmann::json classes = nlohmann::json::array();
  for (int label = 0; label < graph.classes; ++label)
    classes.push_back(input.name_of(static_cast<std::size_t>(label)));
  graph.notes = {{"model", model.model()},
                 {"step", std::to_string(model.step())},
                 {"input", what_comes_in(input)},
                 {"classes", classes.dump()}};
  if (model.nodes() == 0) {
    graph.notes.emplace_back("file", model.name());
  } else {
    graph.notes.emplace_back("run", model.name());
    graph.notes.emplace_back("node", node_word(request));
  }
  const std::string bytes = onnx_file(graph, request.version);
  write_file(place, bytes);
  return {model.step(), model.who(), graph.constants.size(), bytes.size(), model.notices()};
}

}  // namespace veche
