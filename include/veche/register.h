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
#include "veche/strategy.h"

namespace veche {

// Models, data sets and strategies of one's own. Once registered, the configuration takes their names as it
// takes the names of those that are built in: model.name, data.name, strategy.name; and their keys, in the
// same sections. Register before the configuration is resolved, by one thread at a time. A name that is taken
// is a RequestError.

struct OwnModel {
  std::string name;
  std::vector<KeySpec> keys = {};  // besides those of [model]
  bool needs_data = true;          // false: it brings its own, as the quadratic does
  // A learner for one node. Equal specs (but for `node`) must give equal parameters.
  std::function<std::unique_ptr<Learner>(const ModelSpec& spec)> make;
};
VECHE_API void register_model(OwnModel model);

struct OwnDataset {
  struct Parts {
    std::shared_ptr<const Dataset> train, test;
    std::vector<std::string> class_names = {};  // empty: classes are but numbers
  };
  std::string name;
  std::vector<KeySpec> keys = {};  // besides those of [data]
  // Opened once in a process. A RequestError thrown here is what the user reads.
  std::function<Parts(const Options& data, std::uint64_t seed)> open;
};
VECHE_API void register_dataset(OwnDataset dataset);

VECHE_API void register_strategy(StrategyInfo strategy);

}  // namespace veche
