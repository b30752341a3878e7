#include "veche/runtime/plan/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "veche/data/feed/shuffle.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/plan/model_spec.h"
#include "veche/runtime/plan/node_speeds.h"
#include "veche/runtime/plan/pipeline_plan.h"
#include "veche/runtime/registry.h"
#include "veche/train/compression/coded_mixer.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/strategies.h"

namespace veche {
namespace {

const StrategyInfo& strategy_of(const Settings& settings) {
  return find_strategy(settings.strategy.get<std::string>("name"));
}

Pace pace_of(const Settings& settings) { return strategy_of(settings).pace(settings.strategy); }
bool is_async(const Settings& settings) { return pace_of(settings) != Pace::in_step; }

int nodes_with_data(const Settings& settings) {
  const int nodes = settings.replicas();
  const int idle = strategy_of(settings).idle_nodes(settings.strategy);
  if (idle >= nodes)
    throw RequestError(fmt::format("cluster.nodes = {} leaves nobody to train: {} serve", nodes, idle));
  return nodes - idle;
}

NodeFolders open_source(const Settings& settings, int processes) {
  const OpenHow how{.processes = processes};
  if (settings.brings_data) return {};
  if (settings.data.get<std::string>("partition") == "folders")
    return open_node_folders(settings.data, settings.seed(), nodes_with_data(settings), how);
  if (settings.data.has("path") && std::holds_alternative<Value::List>(settings.data.at("path").data))
    throw RequestError("data.path is a list of folders, which only data.partition = \"folders\" divides");
  return {open_data(settings.data, settings.seed(), how), {}};
}

// The nodes that a strategy keeps free of data come first and get empty shards.
Partition divide(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders) {
  if (settings.brings_data) return {};
  const int nodes = nodes_with_data(settings), idle = settings.replicas() - nodes;
  const Dataset& train = *folders.source.train;
  PartitionHints hints{.speed = speeds.speed,
                       .label = [&](std::size_t sample) { return train.label(sample); },
                       .classes = train.classes()};
  if (!hints.speed.empty()) hints.speed.erase(hints.speed.begin(), hints.speed.begin() + idle);
  if (!folders.ends.empty()) hints.owner = [&](std::size_t sample) { return folders.owner(sample); };
  Partition shards =
      partition(train.size(), nodes, settings.data.get<std::string>("partition"), settings.seed(), hints);
  shards.insert(shards.begin(), static_cast<std::size_t>(idle), {});
  return shards;
}

// Each member divides what it has among its own nodes.
Partition divide_own(const Settings& settings, const NodesInView& view, const NodeFolders& folders) {
  Partition shards(static_cast<std::size_t>(settings.nodes()));
  const Dataset& train = *folders.source.train;
  Partition here = partition(train.size(), view.here, "iid", settings.seed(), {});
  std::ranges::move(here, shards.begin() + view.first_here);
  return shards;
}

Augmentation choose_augmentation(const Settings& settings, const DataSource& source) {
  if (settings.brings_data) return {};
  const std::string asked = settings.data.get<std::string>("augment");
  const Augmentation result =
      read_augmentation(asked == "default" ? source.augment : asked, source.train->shape());
  if (!result.none() && dynamic_cast<const PixelSet*>(source.train.get()) == nullptr)
    throw RequestError(
        fmt::format("data.augment = \"{}\" changes images, and {} is not a set of images; choose none", asked,
                    source.name));
  return result;
}

double choose_shuffle(const Settings& settings) {
  const std::string rule = settings.data.get<std::string>("shuffle");
  const double exchanged = read_shuffle(rule);
  if (exchanged > 0 && settings.data.get<std::string>("uneven") == "repeat")
    throw RequestError(fmt::format(
        "data.shuffle = \"{}\" needs nodes that begin their epochs at the same step: choose data.uneven = "
        "\"wait\" or data.shuffle = \"local\"",
        rule));
  if (exchanged > 0 && is_async(settings))
    throw RequestError(
        fmt::format("data.shuffle = \"{}\" needs nodes that begin their epochs at the same step, and these "
                    "are asynchronous: "
                    "choose data.shuffle = \"local\"",
                    rule));
  return settings.brings_data ? 0 : exchanged;
}

bool shares_steps(const Settings& settings) {
  return pace_of(settings) == Pace::async && settings.cluster.get<std::string>("work") == "shared";
}

std::shared_ptr<const Topology> build_topology(const Settings& settings) {
  const StrategyInfo& info = strategy_of(settings);
  if (!info.uses_topology()) return {};
  const int nodes = info.graph_nodes(settings.strategy, settings.replicas());
  if (nodes == 1 && settings.replicas() > 1) return {};  // a single group has nobody to talk to
  return make_topology({.graph = settings.topology.get<std::string>("graph"),
                        .weights = settings.topology.get<std::string>("weights"),
                        .nodes = nodes,
                        .seed = settings.seed(),
                        .directed_allowed = info.graph == StrategyInfo::Graph::directed});
}

bool has_a_count(const Settings& settings) {
  try {
    make_topology({.graph = settings.topology.get<std::string>("graph"),
                   .weights = "metropolis",
                   .nodes = {},
                   .seed = settings.seed()});
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

// Not of every size there is a graph of every family; of none there is one where the family does not exist.
void check_family(Settings settings) {
  constexpr std::array kSizes{4, 5, 6, 8, 9, 3, 2};
  for (const int nodes : kSizes) {
    settings.cluster.set("nodes", {std::int64_t{nodes}});
    try {
      build_topology(settings);
      return;
    } catch (const RequestError&) {
      if (nodes == kSizes.back()) throw;
    }
  }
}

// The family as it is with so many nodes; where it has no such graph, everybody talks with everybody.
std::shared_ptr<const Topology> build_topology_of_view(const Settings& settings) {
  try {
    return build_topology(settings);
  } catch (const RequestError&) {
    Settings other = settings;
    other.topology.set("graph", {std::string("complete")});
    return build_topology(other);
  }
}

SamplePlan count_samples(const Settings& settings, const NodeSpeeds& speeds, const DataPlan& data,
                         const NodesInView* view) {
  std::vector<std::size_t> sizes;
  for (const auto& shard : data.partition) sizes.push_back(shard.size());
  if (view != nullptr && !view->samples.empty()) sizes = view->samples;
  const bool repeat = settings.data.get<std::string>("uneven") == "repeat" || is_async(settings);
  SamplePlan plan{sizes, data.batch, is_async(settings) ? std::vector<std::uint64_t>{} : speeds.train_every,
                  repeat ? SamplePlan::Uneven::repeat : SamplePlan::Uneven::wait,
                  static_cast<std::size_t>(settings.replicas() - nodes_with_data(settings))};
  plan.lose(settings.cluster.get<double>("lose"), settings.seed());
  return plan;
}

void read_eval_mode(const std::string& mode, TrainingPlan& plan) {
  constexpr std::string_view kSample = "sample:";
  if (mode == "average") return;
  plan.evaluate_own = mode == "all" ? TrainingPlan::Who::all : TrainingPlan::Who::sample;
  if (mode == "all") return;
  const char* end = mode.data() + mode.size();
  const char* number = mode.starts_with(kSample) ? mode.data() + kSample.size() : end;
  const auto [stop, error] = std::from_chars(number, end, plan.sample_size);
  if (error != std::errc() || stop != end || plan.sample_size < 1)
    throw RequestError(fmt::format(
        "run.eval = \"{}\" does not exist; choose average, all or sample:K, such as sample:3", mode));
}

// Steps that hold every sample once: of the node with most of them, or, where nodes share the work, on the
// average.
double count_steps(const Settings& settings, const SamplePlan& samples, const Partition& partition) {
  if (settings.brings_data) return 0;
  if (!shares_steps(settings)) return static_cast<double>(samples.steps_per_epoch());
  return static_cast<double>(samples.batches_per_epoch()) /
         static_cast<double>(samples.trainers(partition.size()));
}

PruningPlan plan_pruning(const Settings& settings, std::uint64_t epoch, std::uint64_t steps) {
  const Options& model = settings.model;
  PruningPlan plan;
  if (!model.has("prune") || model.get<double>("prune") == 0) return plan;
  const auto step = [&](const char* key) {  // epochs; steps where there is no data set
    return static_cast<std::uint64_t>(
        std::llround(model.get<double>(key) * static_cast<double>(std::max<std::uint64_t>(epoch, 1))));
  };
  if (is_async(settings))
    throw RequestError(
        fmt::format("model.prune needs nodes that go in step to agree about a mask; with these "
                    "options strategy \"{}\" is asynchronous",
                    strategy_of(settings).name));
  plan.fraction = model.get<double>("prune");
  plan.from = step("prune_at");
  plan.until = model.has("prune_until") ? step("prune_until") : plan.from;
  if (plan.until < plan.from)
    throw RequestError("model.prune_until is before model.prune_at; let it be after");
  if (plan.until >= steps)
    throw RequestError(
        fmt::format("model.prune would be done at step {} of {}: give an earlier model.prune_{}", plan.until,
                    steps, plan.until > plan.from ? "until" : "at"));
  return plan;
}

std::optional<Compression> plan_compression(const Settings& settings, const Topology* topology,
                                            const NodeSpeeds& speeds, double steps_per_epoch) {
  CompressedRun run{.strategy = strategy_of(settings),
                    .known = strategies(),
                    .strategy_options = settings.strategy,
                    .optimizer = settings.optimizer,
                    .steps_per_epoch = steps_per_epoch,
                    .async = is_async(settings),
                    .equal_nodes = speeds.mix_every.empty(),
                    .equal_start = settings.model.get<std::string>("start") == "equal"};
  if (topology != nullptr) {
    run.fixed_graph = topology->period() == 1;
    run.symmetric_graph = is_symmetric(*topology);
  }
  return read_compression(settings.compress, run);
}

// Where a codec brings the optimiser's momentum and clipping, the optimiser has none.
void give_to_codec(TrainingPlan& plan) {
  if (!plan.compression || !plan.compression->spec.gradients_only()) return;
  plan.optimizer_options.set("momentum", {0.0});
  plan.clip = 0;
}

std::uint64_t total_steps(const Settings& settings, double steps_per_epoch, const NodesInView* view) {
  const Options& run = settings.run;
  if (run.has("steps")) return static_cast<std::uint64_t>(run.get<std::int64_t>("steps"));
  const auto epochs = run.get<double>("epochs");
  if (view == nullptr) return std::max<std::uint64_t>(1, std::llround(epochs * steps_per_epoch));
  const double left = std::max(0.0, epochs - view->epochs_before);
  return std::max<std::uint64_t>(
      1, view->epochs_at + static_cast<std::uint64_t>(std::llround(left * steps_per_epoch)));
}

// With run.epochs the learning rate follows the epochs: the rate of a step is that of the step at which a run
// of these nodes alone would have made as many epochs.
RateSchedule plan_rate(const Settings& settings, std::uint64_t steps, double steps_per_epoch,
                       const NodesInView* view) {
  const double per_epoch = std::max(steps_per_epoch, 1.0);
  std::int64_t ahead = 0;
  if (view != nullptr && !settings.run.has("steps"))
    ahead = std::llround(view->epochs_before * steps_per_epoch) - static_cast<std::int64_t>(view->epochs_at);
  return {settings.optimizer,
          {.total_steps = steps, .steps_per_epoch = per_epoch, .nodes = settings.replicas(), .ahead = ahead}};
}

DataPlan plan_data(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders,
                   const NodesInView* view) {
  const bool own = view != nullptr && !view->samples.empty();
  return {.train = folders.source.train,
          .test = view == nullptr || view->test ? folders.source.test : nullptr,
          .partition = own ? divide_own(settings, *view, folders) : divide(settings, speeds, folders),
          .exchanged = choose_shuffle(settings),
          .batch = static_cast<std::size_t>(settings.data.get<std::int64_t>("batch")),
          .augment = choose_augmentation(settings, folders.source)};
}

TrainingPlan plan_training(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders,
                           const std::optional<SimulationPlan>& simulation,
                           std::optional<PipelinePlan> pipeline, const NodesInView* view) {
  const Options& run = settings.run;
  // Who is alone has nobody to talk to.
  const bool alone = view != nullptr && settings.replicas() == 1 && strategy_of(settings).uses_topology();
  DataPlan data = plan_data(settings, speeds, folders, view);
  std::shared_ptr<const Topology> topology = alone             ? nullptr
                                             : view != nullptr ? build_topology_of_view(settings)
                                                               : build_topology(settings);
  const SamplePlan samples = count_samples(settings, speeds, data, view);
  const double steps_per_epoch = count_steps(settings, samples, data.partition);
  const std::uint64_t steps = total_steps(settings, steps_per_epoch, view);
  const auto epoch = static_cast<std::uint64_t>(std::llround(steps_per_epoch));
  const auto every = [&](const char* key) {
    const auto given = static_cast<std::uint64_t>(run.get<std::int64_t>(key));
    return given != 0 ? given : epoch;
  };
  TrainingPlan plan{.steps = steps,
                    .steps_per_epoch = steps_per_epoch,
                    .shared_steps = shares_steps(settings),
                    .evaluate_every = every("eval_every"),
                    .checkpoint_every = every("checkpoint_every"),
                    .target_accuracy = {},
                    .seed = settings.seed(),
                    .flops_per_sample = simulation ? simulation->flops_per_sample : 0,
                    .learns = !simulation || simulation->learns,
                    .clip = settings.optimizer.get<double>("clip"),
                    .slowness = speeds.slowness,
                    .stall_probability = speeds.stall_probability,
                    .stall_seconds = speeds.stall_seconds,
                    .threads = std::max(1, settings.model.get<int>("threads", 0)),
                    .in_view = view != nullptr,
                    .pruning = plan_pruning(settings, epoch, steps),
                    .pipeline = std::move(pipeline),
                    .trace = run.get<bool>("trace"),
                    .strategy = alone ? no_strategy() : strategy_of(settings),
                    .strategy_options = settings.strategy,
                    .optimizer_options = settings.optimizer,
                    .compression = alone
                                       ? std::nullopt
                                       : plan_compression(settings, topology.get(), speeds, steps_per_epoch),
                    .topology = std::move(topology),
                    .mix_every = speeds.mix_every,
                    .samples = samples,
                    .schedule = plan_rate(settings, steps, steps_per_epoch, view),
                    .data = std::move(data)};
  if (run.has("target_accuracy")) {
    plan.target_accuracy = run.get<double>("target_accuracy");
    if (*plan.target_accuracy > 1)
      throw RequestError("run.target_accuracy is a fraction, such as 0.9 for 90 %");
  }
  read_eval_mode(run.get<std::string>("eval"), plan);
  give_to_codec(plan);
  return plan;
}

std::optional<SimulationPlan> plan_virtual_time(const Settings& settings, const DataSource& source) {
  if (settings.cluster.get<std::string>("transport") != "simulated") return {};
  return plan_simulation(settings, make_model_spec(settings, source, NodeId{0}));
}

// Of replicas: data and steps are theirs. A node of a stage is slow by itself.
NodeSpeeds read_speeds(const Settings& settings, bool one_machine) {
  if (settings.stages() == 1) return read_node_speeds(settings.cluster, settings.nodes(), one_machine);
  Options replicas = settings.cluster;
  const auto nodes = settings.cluster.get<std::vector<double>>("speed", {});
  NodeSpeeds speeds;
  if (!nodes.empty()) {
    if (nodes.size() != static_cast<std::size_t>(settings.nodes()))
      throw RequestError(
          fmt::format("cluster.speed has {} numbers for {} nodes", nodes.size(), settings.nodes()));
    const auto stages = static_cast<std::size_t>(settings.stages());
    Value::List sums;
    for (std::size_t i = 0; i < nodes.size(); i += stages)
      sums.push_back({std::reduce(nodes.begin() + static_cast<std::ptrdiff_t>(i),
                                  nodes.begin() + static_cast<std::ptrdiff_t>(i + stages))});
    replicas.set("speed", {std::move(sums)});
  }
  speeds = read_node_speeds(replicas, settings.replicas(), one_machine);
  if (!speeds.slowness.empty() || (!nodes.empty() && settings.cluster.get<bool>("rest", one_machine))) {
    speeds.slowness.clear();
    for (const double speed : nodes) speeds.slowness.push_back(std::ranges::max(nodes) / speed);
  }
  return speeds;
}

std::optional<PipelinePlan> plan_stages(const Settings& settings, const DataSource& source,
                                        const std::optional<SimulationPlan>& simulation) {
  if (!settings.is_cut()) return {};
  return plan_pipeline(settings, make_model_spec(settings, source, NodeId{0}), simulation);
}

[[noreturn]] void refuse(const std::string& what, const std::string& instead) {
  throw RequestError(fmt::format("{} cannot be used where members come and go; {}", what, instead));
}

bool mixes_along_edges(const StrategyInfo& info, const Options& /*options*/) {
  return info.graph == StrategyInfo::Graph::undirected;
}

// Of models in stages there.
void check_stages_for_views(const Settings& settings, const StrategyInfo& info) {
  if (is_async(settings))
    refuse(fmt::format("pipeline.stages with the asynchronous form of strategy.name = \"{}\"", info.name),
           "choose the one in step");
  if (info.common_state(settings.strategy))
    refuse("pipeline.stages with an outer optimiser", "leave out strategy.outer");
  if (settings.grid.get<std::string>("data") == "own")
    refuse("pipeline.stages with grid.data = \"own\", as the last stage needs the first one's labels,",
           "choose grid.data = \"common\"");
  if (settings.nodes() != settings.stages())
    refuse(fmt::format("pipeline.stages with cluster.nodes = {}", settings.nodes()),
           "each member has one stage: leave out cluster.nodes");
}

}  // namespace

void RunPlan::cut_at(Cut cut) {
  Value::List places;
  for (const int place : cut) places.push_back({std::int64_t{place}});
  settings.pipeline.set("cut", {std::move(places)});
  set_cut(*training.pipeline, std::move(cut), settings, simulation);
}

RunPlan::RunPlan(const Settings& given, int processes, bool one_machine)
    : settings(given),
      folders(open_source(settings, processes)),
      source(folders.source),
      simulation(plan_virtual_time(settings, source)),
      stand_in(simulation && !simulation->learns
                   ? std::make_shared<std::vector<float>>(2 * simulation->short_length)
                   : nullptr),
      training(plan_training(settings, read_speeds(settings, one_machine), folders, simulation,
                             plan_stages(settings, source, simulation), nullptr)) {}

RunPlan::RunPlan(const Settings& given, NodeFolders opened, const NodesInView& view)
    : settings(given),
      folders(std::move(opened)),
      source(folders.source),
      training(plan_training(settings, read_speeds(settings, false), folders, {},
                             plan_stages(settings, source, {}), &view)) {}

void check_for_views(const Settings& settings) {
  const StrategyInfo& info = strategy_of(settings);
  const std::string strategy = fmt::format("strategy.name = \"{}\"", info.name);
  if (info.one_learner || info.replicas(settings.strategy) == Replicas::bound)
    refuse(strategy, fmt::format("choose another, such as {} or {}", suggest_strategy(has_equal_replicas),
                                 suggest_strategy(mixes_along_edges)));
  if (const auto refused = info.refuses_grid(settings.strategy)) refuse(refused->reason, refused->instead);
  if (info.idle_nodes(settings.strategy) > 0)
    refuse(strategy + " with nodes that do not train", "let all nodes train");
  if (info.uses_topology() && has_a_count(settings))
    refuse(fmt::format("topology.graph = \"{}\", a graph of so many nodes,",
                       settings.topology.get<std::string>("graph")),
           "give its family alone, such as ring");
  if (info.uses_topology()) check_family(settings);
  const bool coded = settings.compress.get<std::string>("codec") != "none";
  if (coded && info.common_state(settings.strategy))
    refuse(strategy + " with an outer optimiser and a codec", "leave out one of them");
  if (choose_shuffle(settings) > 0)
    refuse(fmt::format("data.shuffle = \"{}\"", settings.data.get<std::string>("shuffle")),
           "samples stay where they are: choose data.shuffle = \"local\"");
  if (settings.model.has("prune") && settings.model.get<double>("prune") > 0)
    refuse("model.prune", "leave it out");
  if (settings.is_cut()) check_stages_for_views(settings, info);
  if (settings.cluster.has("speed")) refuse("cluster.speed, a list of nodes,", "leave it out");
  if (settings.model.get<std::string>("start") == "different")
    refuse("model.start = \"different\"", "newcomers take the state of the others: leave it out");
  if (settings.data.get<std::string>("partition") == "folders")
    refuse("data.partition = \"folders\"", "data.path is each member's own: leave out data.partition");
}

NodeFolders open_data_for_views(const Settings& settings) { return open_source(settings, 1); }

}  // namespace veche
