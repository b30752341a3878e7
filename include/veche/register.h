#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veche/dataset.h"
#include "veche/export.h"
#include "veche/key_spec.h"
#include "veche/learner.h"
#include "veche/model_spec.h"
#include "veche/optimizer.h"
#include "veche/strategy_info.h"

namespace veche {

// Registration of a program's own models, data sets, strategies and optimizers. The configuration
// accepts a registered name like a built-in one (model.name, data.name, strategy.name,
// optimizer.name) and accepts its keys in the same section. Register before the configuration is
// resolved, from one thread at a time. A name that already exists is a RequestError.

struct OwnModel {
  std::string name;
  std::vector<KeySpec> keys = {};  // in addition to the keys of [model]
  bool needs_data = true;          // false: the model brings its own data, as the quadratic does
  // Makes a learner for one node. Specs that are equal except for `node` must give equal
  // parameters.
  std::function<std::unique_ptr<Learner>(const ModelSpec& spec)> make;
  bool needs_threads = false;  // as StrategyInfo::needs_threads
  // What it can learn; data sets of other tasks are refused.
  std::vector<Task> tasks{kAllTasks.begin(), kAllTasks.end()};
};
VECHE_API void register_model(OwnModel model);

struct OwnDataset {
  struct Parts {
    std::shared_ptr<const Dataset> train, test;
    std::vector<std::string> class_names = {};  // empty: classes have numbers only
  };
  std::string name;
  std::vector<KeySpec> keys = {};  // in addition to the keys of [data]
  // Called once per process. A RequestError thrown here is shown to the user.
  std::function<Parts(const Options& data, std::uint64_t seed)> open;
  bool needs_threads = false;  // as StrategyInfo::needs_threads
};
VECHE_API void register_dataset(OwnDataset dataset);

VECHE_API void register_strategy(StrategyInfo strategy);

struct OwnOptimizer {
  std::string name;
  // Makes an optimizer of parameters()[from, from + length) of a node's learner: of all of them, or
  // of the part that the node updates for others. The learner outlives it.
  std::function<std::unique_ptr<Optimizer>(Learner& learner, std::size_t from, std::size_t length)> make;
};
VECHE_API void register_optimizer(OwnOptimizer optimizer);

}  // namespace veche
