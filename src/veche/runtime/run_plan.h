#pragma once

#include <memory>
#include <vector>

#include "veche/data/loader.h"
#include "veche/data/node_folders.h"
#include "veche/data/partition.h"
#include "veche/data/source.h"
#include "veche/runtime/config.h"
#include "veche/runtime/powers.h"
#include "veche/train/loop.h"

namespace veche {

// All that follows from the settings before the first node is made: data opened and divided, the graph built,
// the steps counted. Making it checks the request and throws RequestError.
struct RunPlan {
  // `processes`: of this host, that make the same plan; `one_machine`: they are all.
  explicit RunPlan(const Settings& settings, int processes = 1, bool one_machine = true);

  // One learner may stand for all nodes.
  int learners() const { return settings.strategy_info.one_learner ? 1 : settings.nodes(); }
  std::size_t batch() const { return static_cast<std::size_t>(settings.data.get<std::int64_t>("batch")); }
  std::vector<Loader::Shard> shards_of(std::size_t learner) const;

  const Settings settings;
  const NodePowers powers;
  const NodeFolders folders;  // whose samples are whose already
  const DataSource source;    // empty when the learners bring their own
  const Augmentation augment;
  const Partition partition;                       // where samples are at rest
  const double exchanged;                          // the part of them that is exchanged for each epoch
  const std::shared_ptr<const Topology> topology;  // none when the strategy uses none
  const SamplePlan samples;
  const double steps_per_epoch;  // 0 without a data set
  const LoopPlan loop;
  const Schedule schedule;
};

}  // namespace veche
