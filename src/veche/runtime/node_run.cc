#include "veche/runtime/node_run.h"

#include <optional>

namespace veche {
namespace {

SampleExchange::Plan exchange_of(const Node& node, const std::vector<Loader::Shard>& shards,
                                 const RunPlan& plan) {
  SampleExchange::Plan exchange{.home = plan.partition,
                                .exchanged = plan.exchanged,
                                .seed = plan.settings.seed(),
                                .steps_per_epoch = plan.samples.steps_per_epoch(),
                                .stands_for = {static_cast<int>(node.index())},
                                .first_step = node.resumed.step};
  if (plan.settings.strategy_info.one_learner) {
    exchange.stands_for.clear();
    for (const Loader::Shard& shard : shards) exchange.stands_for.push_back(shard.node);
  }
  return exchange;
}

}  // namespace

Evaluation run_node(Node& node, Observer* observer, const NodeSurroundings& around) {
  static const std::atomic<bool> never = false;
  const auto& [request, plan, prefetcher, slots, checkpointer, checkpoint] = around;
  std::vector<Loader::Shard> shards = plan.shards_of(node.index());
  std::optional<SampleExchange> exchange;
  if (plan.exchanged > 0)
    exchange.emplace(node.sample_channel, plan.source.train, exchange_of(node, shards, plan));
  std::optional<Loader> loader;
  if (!shards.empty())
    loader.emplace(exchange ? exchange->data() : plan.source.train, std::move(shards),
                   Loader::Plan{.batch = plan.batch(),
                                .steps_per_epoch = plan.samples.loader_steps_per_epoch(node.index()),
                                .seed = plan.settings.seed(),
                                .augment = plan.augment,
                                .first_step = plan.samples.taken(node.index(), node.resumed.step),
                                .waits_for_epochs = exchange.has_value()},
                   prefetcher);
  return train_node(
      {.strategy_channel = node.strategy_channel,
       .control_channel = node.control_channel,
       .glance_channel = node.glance_channel,
       .learner = *node.learner,
       .loader = loader ? &*loader : nullptr,
       .exchange = exchange ? &*exchange : nullptr,
       .test = plan.source.test.get(),
       .optimizer = *node.optimizer,
       .pruner = node.pruner,
       .strategy = *node.strategy,
       .schedule = plan.schedule,
       .slots = slots,
       .interrupted = request.interrupted != nullptr ? *request.interrupted : never,
       .observer = observer,
       .checkpointer = checkpointer,
       .spare_learner = [&around] { return learner_of(around.request, around.plan, NodeId{0}); },
       .checkpoint = checkpoint,
       .resumed = node.resumed},
      plan.loop);
}

}  // namespace veche
