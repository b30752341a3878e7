#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "veche/channel.h"
#include "veche/data/division/partition.h"
#include "veche/data/feed/loader.h"
#include "veche/data/sets/visiting_set.h"

namespace veche {

// Lends samples to other nodes and borrows theirs at the beginning of every epoch (data/feed/shuffle.h): what
// data.shuffle = global and partial:Q are. A sample always comes from its home, so a resumed run asks for
// what it needs and goes on. Belongs to the node's thread; all nodes take part.
class SampleExchange {
 public:
  struct Plan {
    const Partition& home;
    double exchanged = 0;
    std::uint64_t seed = 1;
    std::uint64_t steps_per_epoch = 1;
    std::vector<int> stands_for;   // the nodes whose shards this one trains on: itself, or all
    std::uint64_t first_step = 0;  // where a resumed run goes on
  };
  SampleExchange(Channel& channel, std::shared_ptr<const Dataset> data, Plan plan);

  // What the node's loader reads from. The loader must be one that waits for its epochs.
  const std::shared_ptr<const Dataset>& data() const { return visited_; }
  // Before every step. A node without data has no loader, and takes part all the same. Throws PeerLost.
  void before_step(std::uint64_t step, Loader* loader);

  // Of samples; of a resumed run as if it had never stopped.
  Traffic sent() const;
  std::size_t visitors() const { return visitors_->size(); }

 private:
  bool alone() const { return plan_.stands_for.size() != 1; }
  void exchange(const Partition& now);
  // What `from` lends to `to`, in ascending order.
  std::vector<std::uint32_t> lent(std::size_t from, std::size_t to, const Partition& now) const;

  Channel& channel_;
  // Before an epoch's samples are sent; a channel of its own, since `channel_` counts sent samples.
  Channel epoch_barrier_{channel_.endpoint, channel_.pool, channel_.patience, channel_.tag.child(0)};
  const std::shared_ptr<const Dataset> data_;
  const Plan plan_;
  const std::vector<std::uint32_t> home_of_;  // by sample
  const std::shared_ptr<Visitors> visitors_ = std::make_shared<Visitors>();
  const std::shared_ptr<const Dataset> visited_;
  bool started_ = false;
  Traffic before_;  // sent in epochs before the run was resumed
};

}  // namespace veche
