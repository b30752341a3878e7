#include "veche/runtime/plan/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/runtime/plan/strategy_choice.h"
#include "veche/train/loop/sample_plan.h"

namespace veche {

SamplePlan count_samples(const Settings& settings, const NodeSpeeds& speeds, const DataPlan& data,
                         const NodesInView* view) {
  std::vector<std::size_t> sizes;
  for (const auto& shard : data.partition) sizes.push_back(shard.size());
  if (view != nullptr && !view->samples.empty()) sizes = view->samples;
  const bool repeat = settings.data.uneven == UnevenData::repeat || is_async(settings);
  SamplePlan plan{sizes, data.batch, is_async(settings) ? std::vector<std::uint64_t>{} : speeds.train_every,
                  repeat ? SamplePlan::Uneven::repeat : SamplePlan::Uneven::wait,
                  static_cast<std::size_t>(settings.replicas() - nodes_with_data(settings))};
  plan.lose(settings.cluster.lose, settings.seed());
  return plan;
}

double count_steps(const Settings& settings, const SamplePlan& samples, const Partition& partition) {
  if (settings.brings_data) return 0;
  if (!shares_steps(settings)) return static_cast<double>(samples.steps_per_epoch());
  return static_cast<double>(samples.batches_per_epoch()) /
         static_cast<double>(samples.trainers(partition.size()));
}

std::uint64_t total_steps(const Settings& settings, double steps_per_epoch, const NodesInView* view) {
  const RunSettings& run = settings.run;
  if (run.steps) return static_cast<std::uint64_t>(*run.steps);
  const double epochs = run.epochs.value();
  if (view == nullptr) return std::max<std::uint64_t>(1, std::llround(epochs * steps_per_epoch));
  const double left = std::max(0.0, epochs - view->epochs_before);
  return std::max<std::uint64_t>(
      1, view->epochs_at + static_cast<std::uint64_t>(std::llround(left * steps_per_epoch)));
}

// With run.epochs the rate depends on the epochs: it is the rate that these nodes alone would have
// after that many epochs.
RateSchedule plan_rate(const Settings& settings, std::uint64_t steps, double steps_per_epoch,
                       const NodesInView* view) {
  const double per_epoch = std::max(steps_per_epoch, 1.0);
  std::int64_t ahead = 0;
  if (view != nullptr && !settings.run.steps)
    ahead = std::llround(view->epochs_before * steps_per_epoch) - static_cast<std::int64_t>(view->epochs_at);
  return {settings.optimizer,
          {.total_steps = steps, .steps_per_epoch = per_epoch, .nodes = settings.replicas(), .ahead = ahead}};
}

PruningPlan plan_pruning(const Settings& settings, std::uint64_t epoch, std::uint64_t steps) {
  const ModelSettings& model = settings.model;
  PruningPlan plan;
  if (model.prune.value_or(0) == 0) return plan;
  const auto step = [&](double epochs) {  // steps where there is no data set
    return static_cast<std::uint64_t>(
        std::llround(epochs * static_cast<double>(std::max<std::uint64_t>(epoch, 1))));
  };
  if (is_async(settings))
    throw RequestError(
        fmt::format("model.prune needs nodes that go in step to agree about a mask; with these "
                    "options strategy \"{}\" is asynchronous",
                    strategy_of(settings).name));
  plan.fraction = *model.prune;
  plan.from = step(model.prune_at);
  plan.until = model.prune_until ? step(*model.prune_until) : plan.from;
  if (plan.until < plan.from)
    throw RequestError("model.prune_until is before model.prune_at; let it be after");
  if (plan.until >= steps)
    throw RequestError(
        fmt::format("model.prune would be done at step {} of {}: give an earlier model.prune_{}", plan.until,
                    steps, plan.until > plan.from ? "until" : "at"));
  return plan;
}

}  // namespace veche
