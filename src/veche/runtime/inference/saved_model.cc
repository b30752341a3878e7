#include "veche/runtime/inference/saved_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "veche/base/files/files.h"
#include "veche/base/files/read_text.h"
#include "veche/base/machine/cores.h"
#include "veche/base/machine/instruction_set.h"
#include "veche/base/machine/machine.h"
#include "veche/base/text/nesting.h"
#include "veche/errors.h"
#include "veche/model/tensor_layout.h"
#include "veche/runtime/config/config_keys.h"

namespace veche {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kMostLayout = 64 << 20, kMostConfig = 16 << 20;

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
    RunLayout layout{content.at("model"), from_json(content.at("parameters")),
                     from_json(content.at("buffers"))};
    if (content.contains("input")) layout.input = model_input(content.at("input"));
    return layout;
  } catch (const json::exception&) {
    throw RequestError(fmt::format("{} is damaged", run.layout().string()));
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("{} is damaged: {}", run.layout().string(), error.what()));
  }
}

// Checks that every number of the vector belongs to one tensor.
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

// The number of parts in which a model of `whole` parameters was saved.
int stages_of(const RunFolder& run, const CheckpointStore& store, std::uint64_t step, std::size_t whole) {
  try {
    return static_cast<int>(store.parts_at(step, whole).size());
  } catch (const RequestError&) {  // here the layout is what belongs to another model
    throw RequestError(run.layout().string() + " does not fit the checkpoint");
  }
}

FoundModel read_newest(const RunFolder& run, const std::optional<NodeId>& node,
                       std::vector<std::string>& notices) {
  const CheckpointStore store = CheckpointStore::of_run(run.checkpoints(), run.id());
  const auto step = store.newest([&](const DamagedPiece& piece) { notices.push_back(piece.sentence()); });
  if (!step)
    throw RequestError(fmt::format("{} has no whole checkpoint{}{}", run.path().string(),
                                   notices.empty() ? "" : "; ", fmt::join(notices, "; ")));
  std::size_t whole = 0;
  for (const TensorLayout& tensor : read_layout(run).parameters) whole += size_of(tensor);
  const int stages = stages_of(run, store, *step, whole);
  const int nodes = store.nodes_at(*step) / stages;
  if (node && (node->value < 0 || node->value >= nodes))
    throw RequestError(fmt::format("there is no {} {}: the run has {}s 0 to {}",
                                   stages > 1 ? "replica" : "node", node->value,
                                   stages > 1 ? "replica" : "node", nodes - 1));
  return {*step,
          nodes,
          stages,
          node ? store.read_model(*step, *node, stages) : store.read_average_model(*step, stages),
          {}};
}

}  // namespace

void write_layout(const RunFolder& run, const std::string& model, const std::vector<TensorLayout>& parameters,
                  const std::vector<TensorLayout>& buffers, const DataSource& source) {
  json content{{"model", model}, {"parameters", to_json(parameters)}, {"buffers", to_json(buffers)}};
  if (source.train) content["input"] = to_json(input_of(source));
  content["machine"] = {{"processor", processor_name()},
                        {"cores", usable_cores()},
                        {"instruction_set", instruction_set()},
                        {"veche", version()}};
  write_file(run.layout(), content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::string vocabulary_of(const RunFolder& run) {
  std::error_code unknown;
  if (!std::filesystem::exists(run.layout(), unknown)) return {};
  const RunLayout layout = read_layout(run);
  return layout.input && layout.input->tokenizer ? packed_tokenizer(*layout.input->tokenizer) : "";
}

RunLayout layout_for(const RunFolder& run, const SavedModel& model) {
  RunLayout layout = read_layout(run);
  check_fit(layout.parameters, model.parameters.size(), run);
  check_fit(layout.buffers, model.buffers.size(), run);
  return layout;
}

std::shared_ptr<const TableScheme> saved_scheme(const std::filesystem::path& run) {
  const RunFolder folder = RunFolder::open(run);
  std::error_code unknown;
  if (!std::filesystem::exists(folder.layout(), unknown)) return nullptr;
  const std::optional<ModelInput> input = read_layout(folder).input;
  return input && input->table ? std::make_shared<const TableScheme>(*input->table) : nullptr;
}

// Settings::to_toml writes each key on one line, whatever its value.
std::string config_section(const RunFolder& run, const std::string& name) {
  std::istringstream text(read_text(run.config(), "the configuration " + run.config().string(), kMostConfig));
  std::string section;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("[")) inside = line == "[" + name + "]";
    if (inside && !line.empty()) section += line + "\n";
  }
  return section;
}

std::string portable_model_keys(const RunFolder& run) {
  std::istringstream section(config_section(run, "model"));
  std::string kept;
  for (std::string line; std::getline(section, line);) {
    const SectionKey* const key = find_key("model." + line.substr(0, line.find(' ')));
    if (key == nullptr || !key->of_run) kept += line + "\n";
  }
  return kept;
}

// A run that is still training may remove the checkpoint that is being read. There is a newer one
// then.
FoundModel newest_model(const RunFolder& run, const std::optional<NodeId>& node) {
  const CheckpointStore store(run.checkpoints(), 1);
  for (int attempt = 0;; ++attempt) {
    const auto latest = store.latest();
    const auto moved_on = [&] { return attempt < 100 && store.latest() != latest; };
    std::vector<std::string> notices;
    try {
      FoundModel found = read_newest(run, node, notices);
      if (!notices.empty() && moved_on()) continue;
      found.notices = std::move(notices);
      return found;
    } catch (const Error&) {
      if (!moved_on()) throw;
    }
  }
}

std::string not_finite(std::span<const float> parameters, std::span<const float> buffers) {
  std::ptrdiff_t count = 0;
  for (const auto numbers : {parameters, buffers})
    count += std::ranges::count_if(numbers, [](float number) { return !std::isfinite(number); });
  if (count == 0) return {};
  return fmt::format(
      "has {} numbers of {} that are NaN or infinite: the training diverged; train with a lower "
      "optimizer.lr or with optimizer.clip",
      count, parameters.size() + buffers.size());
}

std::string who_of(const std::optional<NodeId>& node, int averaged, int stages) {
  if (node) return fmt::format("{} {}", stages > 1 ? "replica" : "node", node->value);
  return averaged == 1 ? "the model" : fmt::format("the average of {} nodes", averaged);
}

}  // namespace veche
