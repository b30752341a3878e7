#pragma once

#include <optional>

#include "veche/data/feed/loader.h"
#include "veche/train/loop/connections.h"
#include "veche/train/loop/plan.h"
#include "veche/train/loop/sample_exchange.h"

namespace veche {

// Gives a node its batch for every step: loads its samples ahead and exchanges them with other
// nodes before an epoch where data.shuffle says so. Belongs to the node's thread.
class BatchFeed {
 public:
  struct Turn {
    Batch batch;                   // empty where the learner brings its own samples
    std::size_t samples = 0;       // trained on in this step; 0: the node does not compute
    bool lost = false;             // the result of this step is lost (cluster.lose)
    std::uint64_t lost_count = 0;  // results lost in this step, of all nodes that this one stands for
  };

  // The plan, the connections and the prefetcher outlive it.
  BatchFeed(Connections& links, const TrainingPlan& plan, std::uint64_t first_step, Prefetcher& prefetcher);

  // For every step, in order. Collective at the beginning of an epoch if samples are exchanged.
  Turn next(std::uint64_t step);
  // Samples lent to other nodes.
  Traffic samples_sent() const { return exchange_ ? exchange_->sent() : Traffic{}; }

 private:
  std::size_t samples_in(const Batch& batch, std::uint64_t step) const;

  Connections& links_;
  const TrainingPlan& plan_;
  std::optional<SampleExchange> exchange_;  // none: every node keeps its samples
  std::optional<Loader> loader_;            // none: the node has no samples, or its learner brings them
};

}  // namespace veche
