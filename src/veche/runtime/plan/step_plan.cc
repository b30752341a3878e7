#include "veche/runtime/plan/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "veche/errors.h"
#include "veche/runtime/plan/strategy_choice.h"
#include "veche/train/loop/sample_plan.h"

namespace veche {
namespace {

// Shares of one batch for all nodes, by their samples: the largest fractions are rounded up, and a
// node with samples gets at least one. A node without samples has a share of one that it never takes.
std::vector<std::size_t> shares_of(std::size_t batch, const std::vector<std::size_t>& sizes) {
  double all = 0;
  for (const std::size_t size : sizes) all += static_cast<double>(size);
  std::vector<std::size_t> shares(sizes.size()), order(sizes.size());
  std::vector<double> rest(sizes.size());
  std::size_t given = 0;
  for (std::size_t node = 0; node < sizes.size(); ++node) {
    const double exact = all == 0 ? 0 : static_cast<double>(batch) * static_cast<double>(sizes[node]) / all;
    shares[node] = static_cast<std::size_t>(exact);
    rest[node] = exact - std::floor(exact);
    given += shares[node];
    order[node] = node;
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t node) { return rest[node]; });
  for (std::size_t i = 0; i < order.size() && given < batch; ++i, ++given) ++shares[order[i]];
  for (std::size_t node = 0; node < shares.size(); ++node) {
    if (shares[node] > 0) continue;
    shares[node] = 1;
    if (sizes[node] == 0) continue;
    std::size_t& largest = *std::ranges::max_element(shares);
    if (largest > 1) --largest;
  }
  return shares;
}

std::vector<std::size_t> batches_of(const Settings& settings, const DataPlan& data,
                                    const std::vector<std::size_t>& sizes, bool members) {
  if (!settings.data.global_batch) return {data.batch};
  const auto batch = static_cast<std::size_t>(*settings.data.global_batch);
  const auto trainers = static_cast<std::size_t>(std::ranges::count_if(sizes, [](auto n) { return n > 0; }));
  if (batch < trainers && !members)
    throw RequestError(
        fmt::format("data.global_batch = {} is less than a sample for each of {} nodes: choose "
                    "at least {}",
                    batch, trainers, trainers));
  return sizes.empty() ? std::vector{data.batch} : shares_of(batch, sizes);
}

}  // namespace

SamplePlan count_samples(const Settings& settings, const NodeSpeeds& speeds, const DataPlan& data,
                         const NodesInView* view) {
  std::vector<std::size_t> sizes;
  for (const auto& shard : data.partition) sizes.push_back(shard.size());
  if (view != nullptr && !view->samples.empty()) sizes = view->samples;
  const bool repeat = settings.data.uneven == UnevenData::repeat || is_async(settings);
  SamplePlan plan{sizes, batches_of(settings, data, sizes, view != nullptr),
                  is_async(settings) ? std::vector<std::uint64_t>{} : speeds.train_every,
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
