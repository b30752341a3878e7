#include "veche/train/loop/batch_feed.h"

namespace veche {

BatchFeed::BatchFeed(Connections& links, const TrainingPlan& plan, std::uint64_t first_step,
                     Prefetcher& prefetcher)
    : links_(links), plan_(plan) {
  if (links.pipeline() != nullptr && !links.pipeline()->first()) return;
  std::vector<Loader::Shard> shards = plan.shards_of(links.replica());
  if (plan.data.exchanged > 0) {
    SampleExchange::Plan exchange{.home = plan.data.partition,
                                  .exchanged = plan.data.exchanged,
                                  .seed = plan.seed,
                                  .steps_per_epoch = plan.samples.steps_per_epoch(),
                                  .stands_for = {static_cast<int>(links.replica())},
                                  .first_step = first_step};
    if (plan.strategy.one_learner) {
      exchange.stands_for.clear();
      for (const Loader::Shard& shard : shards) exchange.stands_for.push_back(shard.node);
    }
    exchange_.emplace(links.samples, plan.data.train, std::move(exchange));
  }
  if (shards.empty() || !plan.learns) return;
  loader_.emplace(exchange_ ? exchange_->data() : plan.data.train, std::move(shards),
                  plan.loading_of(links.replica(), first_step), prefetcher);
}

BatchFeed::Turn BatchFeed::next(std::uint64_t step) {
  if (exchange_) exchange_->before_step(step, loader_ ? &*loader_ : nullptr);
  const bool joins = plan_.joins_batches();
  const bool my_turn = joins || plan_.samples.trains(links_.replica(), step);
  Turn turn;
  if (my_turn && loader_) turn.batch = loader_->next();
  turn.batch.step = step;
  if (my_turn) turn.samples = samples_in(turn.batch, step);
  turn.lost = turn.samples > 0 && !joins && plan_.samples.lost(links_.replica(), step);
  turn.lost_count = joins ? plan_.samples.count_lost(plan_.data.partition.size(), step) : turn.lost ? 1 : 0;
  return turn;
}

std::size_t BatchFeed::samples_in(const Batch& batch, std::uint64_t step) const {
  // Only the first stage loads samples; the others know how many it has.
  if (links_.pipeline() != nullptr) return plan_.samples.taken_at(links_.replica(), step);
  if (plan_.own_data()) return 1;
  if (plan_.learns) return batch.size();
  return plan_.joins_batches() ? plan_.samples.count_all(plan_.data.partition.size(), step)
                               : plan_.samples.count(links_.me(), step);
}

}  // namespace veche
