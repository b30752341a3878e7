#include "veche/runtime/model_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "veche/base/files.h"
#include "veche/errors.h"
#include "veche/model/weights.h"
#include "veche/runtime/saved_model.h"

namespace veche {
namespace {

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

}  // namespace

ExportResult export_model(const ExportRequest& request) {
  const RunFolder run = RunFolder::open(request.run);
  const FoundModel found = newest_model(run, request.node);
  const RunLayout layout = layout_for(run, found.model);
  const std::filesystem::path place = check_place(request.out);

  SafetensorsWriter writer;
  writer.note("format", "pt");  // what Python's readers look for
  writer.note("veche", request.version);
  writer.note("run", run.name());
  writer.note("model", layout.model);
  writer.note("step", std::to_string(found.step));
  writer.note("node", request.node ? std::to_string(request.node->value) : "average");
  if (layout.input) {
    writer.note(kModelKeys, portable_model_keys(run));
    writer.note(kModelInput, to_json(*layout.input).dump());
  }
  add_tensors(writer, layout.parameters, found.model.parameters);
  add_tensors(writer, layout.buffers, found.model.buffers);
  const auto parts = writer.parts();
  write_file(place, parts);

  ExportResult result{found.step, found.model.nodes, layout.parameters.size() + layout.buffers.size(), 0,
                      found.notices};
  for (const auto& part : parts) result.bytes += part.size();
  return result;
}

}  // namespace veche
