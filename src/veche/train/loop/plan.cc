#include "veche/train/loop/plan.h"

#include <algorithm>

#include "veche/random.h"
#include "veche/train/measure/measure.h"

namespace veche {
namespace {

// Testing more models would take longer than training them.
constexpr std::size_t kAllTestedAtEnd = 64;

bool drawn(std::size_t node, std::size_t nodes, int count, RandomStream random) {
  std::vector<std::size_t> order(nodes);
  for (std::size_t i = 0; i < nodes; ++i) order[i] = i;
  random.shuffle(std::span(order));
  const auto end = order.begin() + std::min(count, static_cast<int>(nodes));
  return std::find(order.begin(), end, node) != end;
}

}  // namespace

TestResult TrainingPlan::untested() const {
  const Dataset* const set = data.test != nullptr ? data.test.get() : data.train.get();
  return set == nullptr ? TestResult{} : veche::untested(*set);
}

std::vector<Loader::Shard> TrainingPlan::shards_of(std::size_t learner) const {
  std::vector<Loader::Shard> shards;
  for (std::size_t node = 0; node < data.partition.size(); ++node)
    if (!data.partition[node].empty() && (strategy.one_learner || node == learner))
      shards.push_back({static_cast<int>(node), data.partition[node], samples.loader_steps_per_epoch(node),
                        samples.batch(node)});
  return shards;
}

Loader::Plan TrainingPlan::loading_of(std::size_t learner, std::uint64_t step) const {
  Loader::Plan plan{.batch = data.batch,
                    .steps_per_epoch = samples.loader_steps_per_epoch(learner),
                    .seed = seed,
                    .augment = data.augment,
                    .first_step = samples.taken(learner, step),
                    .waits_for_epochs = data.exchanged > 0,
                    .turn = {},
                    .class_weights = data.class_weights};
  if (!joins_batches()) return plan;
  plan.steps_per_epoch = samples.steps_per_epoch();
  plan.first_step = step;
  plan.turn = [&all = samples](int node, std::uint64_t at) -> std::optional<std::uint64_t> {
    const auto whose = static_cast<std::size_t>(node);
    if (!all.trains(whose, at) || all.lost(whose, at)) return {};
    return all.taken(whose, at);
  };
  return plan;
}

bool TrainingPlan::tests_model_of(std::size_t node, std::size_t nodes, std::uint64_t step) const {
  if (tested.which != TestedModels::Which::sample) return tested.which == TestedModels::Which::all;
  return drawn(node, nodes, tested.count, RandomStream(seed, "evaluation sample", step));
}

bool TrainingPlan::tests_model_at_end_of(std::size_t node, std::size_t nodes) const {
  if (nodes <= kAllTestedAtEnd || tested.which == TestedModels::Which::all) return true;
  const int count =
      tested.which == TestedModels::Which::sample ? tested.count : static_cast<int>(kAllTestedAtEnd);
  return drawn(node, nodes, count, RandomStream(seed, "evaluation sample", steps));
}

}  // namespace veche
