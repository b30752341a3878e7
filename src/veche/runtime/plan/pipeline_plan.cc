#include "veche/runtime/plan/pipeline_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "veche/errors.h"
#include "veche/model/blank_batch.h"
#include "veche/model/zoo.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

constexpr int kMeasured = 3;  // times; the first pass prepares what the others use

void check_pipeline(const Settings& settings) {
  const StrategyInfo& strategy = find_strategy(settings.strategy.name);
  std::optional<Refusal> refused = strategy.refuses_pipeline(settings.strategy);
  if (strategy.one_learner)
    refused = {"is one learner with the whole model", "such as " + suggest_strategy(has_equal_replicas)};
  if (refused)
    throw RequestError(fmt::format("strategy.name = \"{}\" {}: with pipeline.stages = {} choose another, {}",
                                   strategy.name, refused->reason, settings.stages(), refused->instead));
  if (settings.model.prune.value_or(0) > 0)
    throw RequestError(
        "model.prune cuts the smallest numbers of a whole model, which no stage has: leave it out, or choose "
        "pipeline.stages = 1");
  if (settings.is_simulated() && settings.network.learning == Learning::none)
    throw RequestError(
        "network.learning = \"none\" makes no activations that stages could send: choose \"real\"");
}

std::vector<double> costs_of(const std::vector<BlockDescription>& blocks, PipelineCut::By measure) {
  std::vector<double> costs;
  for (const BlockDescription& block : blocks)
    costs.push_back(measure == PipelineCut::By::layers       ? 1
                    : measure == PipelineCut::By::parameters ? static_cast<double>(block.parameters)
                                                             : static_cast<double>(block.multiply_adds));
  return costs;
}

// `places` ascend from 1 on.
Cut read_cut(const std::vector<std::int64_t>& places, int stages, int blocks) {
  Cut cut;
  for (const std::int64_t place : places) {
    if (place >= blocks)
      throw RequestError(
          fmt::format("pipeline.cut is the first block of each stage but the first, ascending from 1 to {}, "
                      "such as [{}]",
                      blocks - 1, blocks / 2));
    cut.push_back(static_cast<int>(place));
  }
  if (static_cast<int>(cut.size()) != stages - 1)
    throw RequestError(fmt::format("pipeline.cut has {} places for {} stages: give {}, or \"time\"",
                                   cut.size(), stages, stages - 1));
  return cut;
}

std::vector<double> speeds_of(const Settings& settings, const std::optional<SimulationPlan>& simulation) {
  std::vector<double> speeds = settings.cluster.speed;
  if (speeds.empty() && simulation) speeds = simulation->network.speed;
  return stage_speeds(speeds, settings.stages());
}

}  // namespace

std::vector<double> stage_speeds(const std::vector<double>& of_nodes, int stages) {
  std::vector<double> speeds(static_cast<std::size_t>(stages), of_nodes.empty() ? 1 : 0);
  for (std::size_t i = 0; i < of_nodes.size(); ++i) speeds[i % speeds.size()] += of_nodes[i];
  return speeds;
}

Cut plan_cut(const std::vector<BlockDescription>& blocks, const CutRequest& request) {
  const bool measured = request.measure == PipelineCut::By::time && !request.seconds.empty();
  const std::vector<double> costs = measured ? request.seconds : costs_of(blocks, request.measure);
  if (request.measure != PipelineCut::By::parameters) return best_cut(costs, request.speeds);
  return best_cut(costs, std::vector<double>(request.speeds.size(), 1.0));
}

bool is_cut_by_time(const Settings& settings) {
  return settings.is_cut() && settings.stages() > 1 && settings.pipeline.cut.by == PipelineCut::By::time;
}

std::vector<double> measure_blocks(const ModelSpec& model, std::size_t samples) {
  Learners learners;
  MessagePool pool;
  const std::size_t blocks = describe_blocks(model).size();
  const BlankBatch blank(model, samples);
  StageInput input{.batch = blank.batch()};
  const MicroBatch part{.whole = samples, .weight = static_cast<double>(samples)};
  std::vector<double> seconds;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto block = learners.make_stage(model, {static_cast<int>(i), static_cast<int>(i + 1), false});
    Message made;
    double least = 0;
    for (int time = 0; time < kMeasured; ++time) {
      const auto start = std::chrono::steady_clock::now();
      made = block->forward(part, input, pool);
      block->backward(part, made, pool);  // a gradient of the right shape
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (time == 1 || (time > 1 && took < least)) least = took;
    }
    seconds.push_back(least);
    input.activation = std::move(made);
  }
  return seconds;
}

void set_cut(PipelinePlan& plan, Cut cut, const Settings& settings,
             const std::optional<SimulationPlan>& simulation) {
  const Recompute recompute = settings.pipeline.recompute;
  plan.cut = std::move(cut);
  plan.parts.clear();
  plan.flops_per_sample.clear();
  const std::vector<double> costs = costs_of(plan.blocks, PipelineCut::By::time);
  const double whole = std::max(1.0, std::reduce(costs.begin(), costs.end()));
  for (int s = 0; s < plan.stages; ++s) {
    const BlockRange range = blocks_of_stage(plan.cut, static_cast<int>(plan.blocks.size()), s);
    plan.parts.push_back(
        {range.from, range.to,
         recompute == Recompute::all || (recompute == Recompute::except_last && s + 1 < plan.stages)});
    const double share = std::reduce(costs.begin() + range.from, costs.begin() + range.to) / whole;
    if (simulation)
      plan.flops_per_sample.push_back(share * simulation->flops_per_sample / kForwardAndBackward);
  }
}

std::optional<PipelinePlan> plan_pipeline(const Settings& settings, const ModelSpec& model,
                                          const std::optional<SimulationPlan>& simulation) {
  if (!settings.is_cut()) return {};
  check_pipeline(settings);
  PipelinePlan plan;
  plan.stages = settings.stages();
  plan.micro_batches = static_cast<int>(settings.pipeline.micro_batches);
  plan.schedule = settings.pipeline.schedule;
  plan.task = model.task;
  plan.input = model.input;
  plan.blocks = describe_blocks(model);
  const int blocks = static_cast<int>(plan.blocks.size());
  if (plan.stages > blocks)
    throw RequestError(fmt::format("pipeline.stages = {}, but '{}' has {} blocks: choose at most {}",
                                   plan.stages, model.name, blocks, blocks));
  const ModelDescription whole = describe_model(model);
  plan.parameters = whole.parameters;
  plan.buffers = whole.buffers;
  const PipelineCut& given = settings.pipeline.cut;
  set_cut(plan,
          given.by == PipelineCut::By::places
              ? read_cut(given.places, plan.stages, blocks)
              : plan_cut(plan.blocks, {given.by, speeds_of(settings, simulation)}),
          settings, simulation);
  return plan;
}

}  // namespace veche
