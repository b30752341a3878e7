#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/tags.h"
#include "veche/data/division/partition.h"
#include "veche/data/feed/loader.h"
#include "veche/data/sets/borrowed_set.h"

namespace veche {

// Lends samples to other nodes and borrows theirs at the beginning of every epoch
// (data/feed/shuffle.h), for data.shuffle = global and partial:Q. A sample always comes from its
// home node, so a resumed run fetches what it needs and goes on. Belongs to the node's thread; all
// nodes take part.
class SampleExchange {
 public:
  struct Plan {
    const Partition& home;
    double exchanged = 0;
    std::uint64_t seed = 1;
    std::uint64_t steps_per_epoch = 1;
    std::vector<int> stands_for;   // the nodes whose shards this one trains on: itself, or all
    std::uint64_t first_step = 0;  // of this run, if it was resumed
  };
  SampleExchange(Channel& channel, std::shared_ptr<const Dataset> data, Plan plan);

  // The data set that the node's loader reads. The loader must be one that waits for its epochs.
  const std::shared_ptr<const Dataset>& data() const { return visited_; }
  // Before every step. A node without data has no loader but takes part too. Throws PeerLost.
  void before_step(std::uint64_t step, Loader* loader);

  // The traffic of samples; a resumed run counts as if it had never stopped.
  Traffic sent() const;
  std::size_t borrowed() const { return borrowed_->size(); }

 private:
  bool alone() const { return plan_.stands_for.size() != 1; }
  void exchange(const Partition& now);
  // The samples that `from` lends to `to`, in ascending order.
  std::vector<std::uint32_t> lent(std::size_t from, std::size_t to, const Partition& now) const;

  Channel& channel_;
  // Before an epoch's samples are sent; a channel of its own, since `channel_` counts sent samples.
  Channel epoch_barrier_{channel_.endpoint, channel_.pool, channel_.timeout,
                         channel_.tag.child(tags::kEpochBarrier)};
  const std::shared_ptr<const Dataset> data_;
  const Plan plan_;
  const std::vector<std::uint32_t> home_of_;  // by sample
  const std::shared_ptr<BorrowedSamples> borrowed_ = std::make_shared<BorrowedSamples>();
  const std::shared_ptr<const Dataset> visited_;
  bool started_ = false;
  Traffic before_;  // traffic of the epochs before the run was resumed
};

}  // namespace veche
