#include "veche/runtime/config/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "veche/base/text/host_port.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/quantity.h"
#include "veche/runtime/plan/pipeline_plan.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

constexpr std::size_t kLongestRunName = 200;  // file systems take 255 bytes
constexpr std::size_t kLongestPath = 3000;    // of the folder of runs: the system takes 4095 bytes
constexpr std::int64_t kUsualSteps = 100;
constexpr double kUsualEpochs = 2;

// A wrong value is refused even where it is not used.
void check_pipeline_values(const PipelineSettings& pipeline) {
  const Value& again = pipeline.recompute;
  if (!std::holds_alternative<bool>(again.data) && !std::holds_alternative<std::string>(again.data))
    throw RequestError("pipeline.recompute must be true, false or \"except-last\", not " + to_toml(again));
  const Value& cut = pipeline.cut;
  if (!std::holds_alternative<std::string>(cut.data) && !std::holds_alternative<Value::List>(cut.data))
    throw RequestError("pipeline.cut must be \"time\", \"parameters\", \"layers\" or a list, not " +
                       to_toml(cut));
  const auto* places = std::get_if<Value::List>(&cut.data);
  std::int64_t before = 0;
  for (const Value& item : places == nullptr ? Value::List{} : *places) {
    const auto* place = std::get_if<std::int64_t>(&item.data);
    if (place == nullptr || *place <= before)
      throw RequestError("pipeline.cut must hold whole numbers from 1 on, ascending, not " + to_toml(cut));
    before = *place;
  }
}

}  // namespace

void settle_model_name(Settings& settings, bool name_given) {
  ModelSettings& model = settings.model;
  if (model.file && !name_given) model.name = "torchscript";
  if (const bool script = model.name == "torchscript"; script != model.file.has_value())
    throw RequestError(script ? "model.name = \"torchscript\" needs model.file, the file of the module"
                              : "model.file is for model.name = \"torchscript\"; leave model.name out");
}

void check_run_names(const RunSettings& run) {
  const auto check = [](const char* key, const std::string& text, std::size_t most) {
    if (text.size() > most)
      throw RequestError(
          fmt::format("run.{} has {} bytes: {} are the most that can be used", key, text.size(), most));
  };
  check("name", run.name.value_or(""), kLongestRunName);
  check("out", run.out, kLongestPath);
}

void check_model_start(const ModelSettings& model) {
  if (model.start != ModelStart::different) return;
  for (const auto& [key, given] :
       {std::pair("init", model.init.has_value()), std::pair("file", model.file.has_value()),
        std::pair("x0", model.x0.has_value())})
    if (given)
      throw RequestError(fmt::format(
          "model.{} gives all nodes the same weights, model.start = \"different\" does not; keep one", key));
}

void settle_length(Settings& settings) {
  RunSettings& run = settings.run;
  if (run.epochs && run.steps) throw RequestError("run.epochs and run.steps are both given; keep one");
  if (settings.brings_data && run.epochs)
    throw RequestError("run.epochs needs a data set, which this model does not use; give run.steps");
  if (run.epochs || run.steps) return;
  if (settings.brings_data)
    run.steps = kUsualSteps;
  else
    run.epochs = kUsualEpochs;
}

std::optional<std::int64_t> implied_nodes(const Settings& settings) {
  if (settings.model.name == "quadratic" && settings.model.a)
    return static_cast<std::int64_t>(std::get<Value::List>(settings.model.a->data).size());
  if (!find_strategy(settings.strategy.name).uses_topology()) return {};
  try {
    return settings.stages() * make_topology({.graph = settings.topology.graph,
                                              .weights = "metropolis",
                                              .nodes = {},
                                              .seed = settings.seed()})
                                   ->nodes();
  } catch (const RequestError&) {
    return {};  // a spec without a count; other mistakes in it are reported when the topology is made
  }
}

void settle_pipeline(Settings& settings, bool micro_batches_given, bool nodes_given) {
  check_pipeline_values(settings.pipeline);
  const std::int64_t stages = settings.stages(), nodes = settings.nodes();
  const std::int64_t batch = settings.brings_data ? 1 : settings.data.batch;
  std::int64_t& parts = settings.pipeline.micro_batches;
  if (!micro_batches_given) parts = usual_micro_batches(stages, batch);
  if (parts > batch)
    throw RequestError(fmt::format(
        "pipeline.micro_batches = {} are more than the {} samples of data.batch: choose at most {}", parts,
        batch, batch));
  if (stages == 1) return;
  if (nodes % stages != 0 && !nodes_given) {
    settings.cluster.nodes = settings.stages();  // one replica
  } else if (nodes % stages != 0) {
    const std::int64_t below = nodes / stages * stages;
    throw RequestError(
        fmt::format("cluster.nodes = {} is not a multiple of pipeline.stages = {}: choose {}{}", nodes,
                    stages, below > 0 ? fmt::format("{} or ", below) : "", below + stages));
  }
}

void check_grid(const GridSettings& grid) {
  const auto check = [](const char* key, const std::string& text) {
    if (!read_host_port(text))
      throw RequestError(fmt::format("grid.{} = \"{}\" is no HOST:PORT, such as 10.0.0.7:4000", key, text));
  };
  check("listen", grid.listen);
  for (const std::string& text : grid.address) check("address", text);
  std::istringstream tables(grid.dht);
  for (std::string text; std::getline(tables, text, ',');) check("dht", text);
  read_duration("grid.wait_limit", {grid.wait_limit});
}

}  // namespace veche
