#include "cli/model/model_show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/memory.h"
#include "veche/config.h"
#include "veche/errors.h"
#include "veche/model/gpt_size.h"
#include "veche/model/tensor_layout.h"
#include "veche/model/zoo.h"

namespace veche::cli {
namespace {

using nlohmann::ordered_json;

std::uint64_t numbers(const std::vector<TensorLayout>& layout) {
  std::uint64_t count = 0;
  for (const TensorLayout& tensor : layout) count += size_of(tensor);
  return count;
}

// The size of parameters and buffers, in memory and in a file.
std::uint64_t bytes_of(const ModelDescription& model) {
  return (numbers(model.parameters) + numbers(model.buffers)) * sizeof(float);
}

// A multiplication and an addition are two operations.
std::int64_t flops(const ModelDescription& model) { return 2 * model.multiply_adds; }

std::string rounded(std::int64_t count) {
  const auto number = static_cast<double>(count);
  return number >= 1e9   ? fmt::format("{:.2f} G", number / 1e9)
         : number >= 1e6 ? fmt::format("{:.1f} M", number / 1e6)
                         : fmt::format("{:.0f} k", number / 1e3);
}

ModelDescription usual(const ModelInfo& info) {
  ModelSpec spec;
  spec.name = info.name;
  spec.input = info.input;
  spec.classes = info.classes;
  spec.task = info.tasks.front();
  return describe_model(spec);
}

Shape read_shape(const std::string& text) {
  std::vector<int> extents;
  const char* at = text.data();
  const char* end = at + text.size();
  while (extents.size() < 3) {
    int extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 1 || extent > 100'000) break;
    extents.push_back(extent);
    at = next;
    if (at == end || *at != 'x') break;
    ++at;
  }
  if (extents.size() != 3 || at != end)
    throw RequestError(fmt::format("--input {} is not channels x height x width, such as 3x32x32", text));
  check_memory(1.0 * sizeof(float) * extents[0] * extents[1] * extents[2], "--input " + text,
               "choose a smaller one");
  return {extents[0], extents[1], extents[2]};
}

ModelSpec asked_for(const ShowArguments& arguments) {
  Config config;
  config.set("model.name=\"" + arguments.name + "\"");
  for (const std::string& assignment : arguments.assignments) {
    if (!assignment.starts_with("model."))
      throw RequestError(fmt::format("--set {}: only keys of [model] change a model", assignment));
    config.set(assignment);
  }
  ModelSpec spec;
  const Settings settings = config.resolve();
  spec.settings = settings.model;
  spec.options = settings.model.keys;
  spec.nodes = settings.nodes();
  spec.name = spec.settings.name;
  const ModelInfo info = find_model(spec.name);
  spec.task = info.tasks.front();
  spec.input = arguments.input.empty() ? info.input : read_shape(arguments.input);
  if (const auto gpt = gpt_size(spec.settings); gpt && arguments.input.empty())
    spec.input = {gpt->context, 1, 1};
  spec.classes = spec.settings.classes.value_or(info.classes);
  return spec;
}

ordered_json layout_json(const std::vector<TensorLayout>& layout) {
  ordered_json tensors = ordered_json::array();
  for (const TensorLayout& tensor : layout)
    tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"count", size_of(tensor)}});
  return tensors;
}

ordered_json costs(const ModelDescription& model) {
  return {{"parameters", numbers(model.parameters)},
          {"multiply_adds", model.multiply_adds},
          {"flops", flops(model)},
          {"bytes", bytes_of(model)}};
}

void add_rows(Table& table, const std::vector<TensorLayout>& layout, const std::string& kind) {
  for (const TensorLayout& tensor : layout)
    table.row(
        {tensor.name, fmt::format("{}", fmt::join(tensor.shape, " x ")), with_commas(size_of(tensor)), kind});
}

}  // namespace

void list_all_models(bool json) {
  ordered_json rows = ordered_json::array();
  Table table({"model", "parameters", "FLOPs/sample", "bytes"});
  std::string missing;  // why costs cannot be counted: without libtorch's module only names are known
  for (const ModelInfo& info : list_models()) {
    std::optional<ModelDescription> model;
    if (missing.empty() && info.input.size() > 0) try {
        model = usual(info);
      } catch (const RequestError& error) {
        missing = error.what();
      }
    ordered_json row{{"name", info.name}, {"parameters", info.parameters}};
    if (model) row.update(costs(*model));
    row["description"] = info.description;
    rows.push_back(row);
    table.row({fmt::format("{:<18} {}", info.name, info.description),
               info.parameters == 0 ? "yours" : with_commas(static_cast<std::uint64_t>(info.parameters)),
               model ? rounded(flops(*model)) : "",
               model ? bytes(static_cast<double>(bytes_of(*model))) : ""});
  }
  if (json)
    answer_json(ordered_json{{"models", rows}});
  else
    answer("{}", table.text());
  if (!missing.empty()) tell_sentence("FLOPs and bytes are left out: " + missing);
}

void show_model(const ShowArguments& arguments) {
  const ModelSpec spec = asked_for(arguments);
  if (arguments.stages.stages != 0) return show_stages(spec, arguments.stages, arguments.json);
  const ModelDescription model = describe_model(spec);
  if (arguments.json) {
    ordered_json object{{"name", spec.name},
                        {"input", {spec.input.channels, spec.input.height, spec.input.width}},
                        {"classes", spec.classes}};
    object.update(costs(model));
    object["layers"] = layout_json(model.parameters);
    object["buffers"] = layout_json(model.buffers);
    answer_json(object);
    return;
  }
  Table table({"tensor", "shape", "numbers", ""});
  add_rows(table, model.parameters, "");
  add_rows(table, model.buffers, "buffer");
  answer("{}", table.text());
  const bool text = spec.task == Task::language;
  answer("{} for {}: {} parameters, {}, {} FLOPs {} forward\n", spec.name,
         text ? fmt::format("{} tokens of {}", spec.input.channels, spec.classes)
              : fmt::format("{}x{}x{}, {} classes", spec.input.channels, spec.input.height, spec.input.width,
                            spec.classes),
         with_commas(numbers(model.parameters)), bytes(static_cast<double>(bytes_of(model))),
         rounded(flops(model)), text ? "a text" : "an image");
}

}  // namespace veche::cli
