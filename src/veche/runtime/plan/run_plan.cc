#include "veche/runtime/plan/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/plan/data_plan.h"
#include "veche/runtime/plan/model_spec.h"
#include "veche/runtime/plan/node_speeds.h"
#include "veche/runtime/plan/pipeline_plan.h"
#include "veche/runtime/plan/sample_text.h"
#include "veche/runtime/plan/step_plan.h"
#include "veche/runtime/plan/strategy_choice.h"
#include "veche/runtime/plan/topology_of.h"
#include "veche/runtime/registry.h"
#include "veche/train/compression/coded_mixer.h"
#include "veche/train/measure/target.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/strategies/strategies.h"

namespace veche {
namespace {

std::optional<Compression> plan_compression(const Settings& settings, const Topology* topology,
                                            const NodeSpeeds& speeds, double steps_per_epoch) {
  CompressedRun run{.strategy = strategy_of(settings),
                    .known = strategies(),
                    .strategy_options = settings.strategy,
                    .optimizer = settings.optimizer,
                    .plain_sgd = optimizer_rule(settings.optimizer.name) == OptimizerRule::sgd &&
                                 !settings.optimizer.nesterov,
                    .steps_per_epoch = steps_per_epoch,
                    .async = is_async(settings),
                    .equal_nodes = speeds.mix_every.empty(),
                    .equal_start = settings.model.start == ModelStart::equal};
  if (topology != nullptr) {
    run.fixed_graph = topology->period() == 1;
    run.symmetric_graph = is_symmetric(*topology);
  }
  return read_compression(settings.compress, run);
}

// Codecs of gradients apply momentum and clipping themselves; the optimizer then must not.
void give_to_codec(TrainingPlan& plan) {
  if (!plan.compression || !plan.compression->spec.gradients_only()) return;
  plan.optimizer_options.momentum = 0;
  plan.clip = 0;
}

// Whether the one node of the run, or of its view, has no neighbours to agree with.
bool is_alone(const Settings& settings, bool in_view) {
  return settings.replicas() == 1 && strategy_of(settings).uses_topology() &&
         (in_view || !has_a_count(settings));
}

std::optional<Target> plan_target(const RunSettings& run, const TrainingPlan& plan) {
  const Task task = plan.untested().task;
  std::optional<Target> target;
  if (run.target) {
    if (run.target_accuracy)
      throw RequestError("run.target and run.target_accuracy exclude each other; choose run.target");
    target = read_target(*run.target, task);
  } else if (run.target_accuracy) {
    if (*run.target_accuracy > 1)
      throw RequestError("run.target_accuracy is a fraction, such as 0.9 for 90 %");
    if (task == Task::regression)
      throw RequestError(fmt::format(
          "run.target_accuracy: there is no accuracy where the targets are {}; choose run.target, such as "
          "\"{} <= 0.5\"",
          targets_of(task), main_measure(task).name));
    target = {.measure = find_measure("accuracy"),
              .value = *run.target_accuracy,
              .reason = StopReason::target_accuracy};
  }
  const Dataset* const test = plan.data.test.get();
  if (target && target->measure->name == "auc" && test != nullptr && test->classes() != 2)
    throw RequestError(fmt::format(
        "run.target: auc needs two classes, and the data have {}; choose accuracy or loss", test->classes()));
  return target;
}

TrainingPlan plan_training(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders,
                           const std::optional<SimulationPlan>& simulation,
                           std::optional<PipelinePlan> pipeline, const NodesInView* view) {
  const RunSettings& run = settings.run;
  const bool alone = is_alone(settings, view != nullptr);
  DataPlan data = plan_data(settings, speeds, folders, view);
  std::shared_ptr<const Topology> topology = alone             ? nullptr
                                             : view != nullptr ? build_topology_of_view(settings)
                                                               : build_topology(settings);
  const SamplePlan samples = count_samples(settings, speeds, data, view);
  const double steps_per_epoch = count_steps(settings, samples, data.partition);
  if (alone && view == nullptr)  // refuses what several nodes would be refused
    plan_compression(settings, check_family(settings).get(), speeds, steps_per_epoch);
  const std::uint64_t steps = total_steps(settings, steps_per_epoch, view);
  const auto epoch = static_cast<std::uint64_t>(std::llround(steps_per_epoch));
  const auto or_epoch = [&](std::int64_t given) {
    return given != 0 ? static_cast<std::uint64_t>(given) : epoch;
  };
  TrainingPlan plan{.steps = steps,
                    .steps_per_epoch = steps_per_epoch,
                    .shared_steps = shares_steps(settings),
                    .evaluate_every = or_epoch(run.eval_every),
                    .checkpoint_every = or_epoch(run.checkpoint_every),
                    .target = {},
                    .seed = settings.seed(),
                    .tested = run.eval,
                    .flops_per_sample = simulation ? simulation->flops_per_sample : 0,
                    .learns = !simulation || simulation->learns,
                    .clip = settings.optimizer.clip,
                    .slowness = speeds.slowness,
                    .stall_probability = speeds.stall_probability,
                    .stall_seconds = speeds.stall_seconds,
                    .threads = std::max(1, settings.model.threads),
                    .pruning = plan_pruning(settings, epoch, steps),
                    .pipeline = std::move(pipeline),
                    .trace = run.trace,
                    .write_sample = plan_sample(folders.source),
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
  plan.target = plan_target(run, plan);
  give_to_codec(plan);
  return plan;
}

std::optional<SimulationPlan> plan_virtual_time(const Settings& settings, const DataSource& source) {
  if (!settings.is_simulated()) return {};
  return plan_simulation(settings, make_model_spec(settings, source, NodeId{0}));
}

std::optional<PipelinePlan> plan_stages(const Settings& settings, const DataSource& source,
                                        const std::optional<SimulationPlan>& simulation) {
  if (!settings.is_cut()) return {};
  return plan_pipeline(settings, make_model_spec(settings, source, NodeId{0}), simulation);
}

}  // namespace

void RunPlan::cut_at(Cut cut) {
  settings.pipeline.cut = {PipelineCut::By::places, {cut.begin(), cut.end()}};
  set_cut(*training.pipeline, std::move(cut), settings, simulation);
}

void RunPlan::limit_to_trial(std::uint64_t steps) {
  training.steps = std::min(training.steps, steps);
  training.evaluate_every = 0;
  training.target = {};
  training.data.test = nullptr;
  training.trace = false;
}

RunPlan::RunPlan(const Settings& given, const OpenOptions& how, bool one_machine)
    : settings(given),
      folders(open_source(settings, how)),
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

NodeFolders open_data_for_views(const Settings& settings, std::shared_ptr<const TableScheme> scheme) {
  const bool follows = scheme == nullptr && settings.grid.data == MemberData::own;
  return open_source(settings, {.scheme = std::move(scheme), .scheme_follows = follows});
}

}  // namespace veche
