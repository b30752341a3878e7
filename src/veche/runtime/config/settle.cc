#include "veche/runtime/config/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "veche/base/text/host_port.h"
#include "veche/data/sets/source.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/quantity.h"
#include "veche/runtime/registry.h"
#include "veche/train/optim/optimizer.h"

namespace veche {
namespace {

constexpr std::size_t kLongestRunName = 200;  // file systems take 255 bytes
constexpr std::size_t kLongestPath = 3000;    // of the folder of runs: the system takes 4095 bytes
constexpr std::int64_t kUsualSteps = 100;
constexpr std::int64_t kMicroBatchesPerStage = 4;
constexpr double kUsualEpochs = 2;

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

void settle_optimizer(Settings& settings, const std::function<bool(const char* key)>& given) {
  OptimizerSettings& optimizer = settings.optimizer;
  const auto follows = [&](const char* key, auto& member, auto value) {
    if (!given(key)) member = value;
  };
  const bool text = !settings.brings_data && is_text(settings.data);
  if (text && !given("name")) optimizer.name = "adamw";
  const auto rule = optimizer_rule(optimizer.name);
  if (text && (rule == OptimizerRule::adamw || rule == OptimizerRule::muon)) {
    follows("beta2", optimizer.beta2, 0.99);
    follows("weight_decay", optimizer.weight_decay, 0.1);
    follows("decay_norms", optimizer.decay_norms, false);
    follows("clip", optimizer.clip, 1.0);
  }
  if (rule == OptimizerRule::muon) {
    follows("momentum", optimizer.momentum, 0.95);
    follows("nesterov", optimizer.nesterov, true);
  }
  follows("lr", optimizer.lr, default_rate(optimizer.name));
  if (optimizer.warmup_steps > 0 && optimizer.warmup_epochs > 0)
    throw RequestError("optimizer.warmup_steps and optimizer.warmup_epochs are both given; keep one");
}

void check_batch(const Settings& settings) {
  const DataSettings& data = settings.data;
  if (settings.brings_data && data.global_batch)
    throw RequestError(
        "data.global_batch needs a data set, which this model does not use: divide the batch where its "
        "samples are read");
  if (data.global_batch && data.accumulate > 1)
    throw RequestError(
        "data.global_batch and data.accumulate are both given; keep one: a global batch is made in passes of "
        "at most data.batch samples");
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

std::int64_t usual_micro_batches(std::int64_t stages, std::int64_t batch) {
  return stages == 1 ? 1 : std::min(kMicroBatchesPerStage * stages, batch);
}

void settle_pipeline(Settings& settings, bool micro_batches_given, bool nodes_given) {
  const std::int64_t stages = settings.stages(), nodes = settings.nodes();
  const std::int64_t accumulate = stages > 1 ? settings.data.accumulate : 1;
  const std::int64_t batch = settings.brings_data ? 1 : settings.data.batch;
  std::int64_t& parts = settings.pipeline.micro_batches;
  if (!micro_batches_given) parts = accumulate * usual_micro_batches(stages, batch);
  if (parts > accumulate * batch)
    throw RequestError(fmt::format(
        "pipeline.micro_batches = {} are more than the {} samples of data.batch: choose at most {}", parts,
        accumulate * batch, accumulate * batch));
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
