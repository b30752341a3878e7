#include "veche/runtime/model_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "veche/base/files.h"
#include "veche/base/nesting.h"
#include "veche/base/read_text.h"
#include "veche/errors.h"
#include "veche/model/tensor_layout.h"
#include "veche/model/weights.h"
#include "veche/runtime/checkpoint.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kMostLayout = 64 << 20;

json to_json(const std::vector<TensorLayout>& layout) {
  json tensors = json::array();
  for (const TensorLayout& tensor : layout)
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"strides", tensor.strides},
                       {"offset", tensor.offset}});
  return tensors;
}

std::vector<TensorLayout> from_json(const json& tensors) {
  std::vector<TensorLayout> layout;
  for (const json& tensor : tensors)
    layout.push_back({tensor.at("name"), tensor.at("shape"), tensor.at("strides"), tensor.at("offset")});
  return layout;
}

struct RunLayout {
  std::string model;
  std::vector<TensorLayout> parameters;
  std::vector<TensorLayout> buffers;
};

RunLayout read_layout(const RunFolder& run) {
  std::error_code unknown;
  if (!std::filesystem::exists(run.layout(), unknown))
    throw RequestError(
        fmt::format("{} is missing: the run is of an older Veche; resume it once, and it will "
                    "be there",
                    run.layout().string()));
  const std::string text = read_text(run.layout(), run.layout().string(), kMostLayout);
  try {
    check_json_nesting(text);
    const json content = json::parse(text);
    return {content.at("model"), from_json(content.at("parameters")), from_json(content.at("buffers"))};
  } catch (const json::exception&) {
    throw RequestError(fmt::format("{} is damaged", run.layout().string()));
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("{} is damaged: {}", run.layout().string(), error.what()));
  }
}

// Every number of the vector belongs to one tensor.
void check_fit(const std::vector<TensorLayout>& layout, std::size_t size, const RunFolder& run) {
  std::size_t count = 0;
  for (const TensorLayout& tensor : layout) {
    bool inside = tensor.shape.size() == tensor.strides.size();
    std::size_t last = tensor.offset;
    for (std::size_t d = 0; inside && d < tensor.shape.size(); ++d) {
      inside = tensor.shape[d] > 0 && tensor.strides[d] > 0;
      if (inside) last += static_cast<std::size_t>((tensor.shape[d] - 1) * tensor.strides[d]);
    }
    if (!inside || last >= size) throw RequestError(run.layout().string() + " does not fit the checkpoint");
    count += size_of(tensor);
  }
  if (count != size) throw RequestError(run.layout().string() + " does not fit the checkpoint");
}

// Where the file is to lie.
std::filesystem::path check_place(const std::filesystem::path& out) {
  namespace fs = std::filesystem;
  if (fs::is_directory(out))
    throw RequestError(fmt::format("{} is a folder; name a file, such as {}", out.string(),
                                   (out / "model.safetensors").string()));
  fs::path place = place_of(out);
  if (place.has_parent_path() && !fs::is_directory(place.parent_path()))
    throw RequestError(fmt::format("the folder {} does not exist", place.parent_path().string()));
  return place;
}

struct Found {
  std::uint64_t step = 0;
  SavedModel model;
};

// In how many parts a model of so many parameters was saved.
int stages_of(const RunFolder& run, const CheckpointStore& store, std::uint64_t step, std::size_t whole) {
  try {
    return static_cast<int>(store.parts_at(step, whole).size());
  } catch (const RequestError&) {  // here it is the layout that tells of another model
    throw RequestError(run.layout().string() + " does not fit the checkpoint");
  }
}

Found read_newest(const RunFolder& run, const ExportRequest& request, std::vector<std::string>& notices) {
  const CheckpointStore store = CheckpointStore::of_run(run.checkpoints());
  const auto step = store.newest([&](const std::string& sentence) { notices.push_back(sentence); });
  if (!step)
    throw RequestError(fmt::format("{} has no whole checkpoint{}{}", run.path().string(),
                                   notices.empty() ? "" : "; ", fmt::join(notices, "; ")));
  std::size_t whole = 0;
  for (const TensorLayout& tensor : read_layout(run).parameters) whole += size_of(tensor);
  const int stages = stages_of(run, store, *step, whole);
  const int nodes = store.nodes_at(*step) / stages;
  if (request.node && (request.node->value < 0 || request.node->value >= nodes))
    throw RequestError(fmt::format("there is no {} {}: the run has {}s 0 to {}",
                                   stages > 1 ? "replica" : "node", request.node->value,
                                   stages > 1 ? "replica" : "node", nodes - 1));
  return {*step, request.node ? store.read_model(*step, *request.node, stages)
                              : store.read_average_model(*step, stages)};
}

// A run that is going on removes old ones, perhaps the very one that is read. Then there are newer ones.
Found read_newest_of_any(const RunFolder& run, const ExportRequest& request,
                         std::vector<std::string>& notices) {
  const CheckpointStore store(run.checkpoints(), 1);
  for (int attempt = 0;; ++attempt) {
    const auto latest = store.latest();
    const auto moved_on = [&] { return attempt < 100 && store.latest() != latest; };
    notices.clear();
    try {
      Found found = read_newest(run, request, notices);
      if (notices.empty() || !moved_on()) return found;
    } catch (const Error&) {
      if (!moved_on()) throw;
    }
  }
}

}  // namespace

void write_layout(const RunFolder& run, const std::string& model, const std::vector<TensorLayout>& parameters,
                  const std::vector<TensorLayout>& buffers) {
  const json content{{"model", model}, {"parameters", to_json(parameters)}, {"buffers", to_json(buffers)}};
  write_file(run.layout(), content.dump() + "\n");
}

ExportResult export_model(const ExportRequest& request) {
  const RunFolder run = RunFolder::open(request.run);
  ExportResult result;
  const auto [step, model] = read_newest_of_any(run, request, result.notices);
  const RunLayout layout = read_layout(run);
  check_fit(layout.parameters, model.parameters.size(), run);
  check_fit(layout.buffers, model.buffers.size(), run);
  const std::filesystem::path place = check_place(request.out);

  SafetensorsWriter writer;
  writer.note("format", "pt");  // what Python's readers look for
  writer.note("veche", request.version);
  writer.note("run", run.name());
  writer.note("model", layout.model);
  writer.note("step", std::to_string(step));
  writer.note("node", request.node ? std::to_string(request.node->value) : "average");
  add_tensors(writer, layout.parameters, model.parameters);
  add_tensors(writer, layout.buffers, model.buffers);
  const auto parts = writer.parts();
  write_file(place, parts);

  result.step = step;
  result.nodes = model.nodes;
  result.tensors = layout.parameters.size() + layout.buffers.size();
  for (const auto& part : parts) result.bytes += part.size();
  return result;
}

}  // namespace veche
