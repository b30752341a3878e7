#pragma once

#include <cstdint>
#include <string>

#include "veche/batch.h"
#include "veche/node_id.h"
#include "veche/options.h"
#include "veche/settings.h"

namespace veche {

// Everything that defines a learner. Specs that are equal except for `node` give equal initial
// parameters.
struct ModelSpec {
  std::string name = "cnn";
  Shape input;       // shape of one sample, from the data set
  int classes = 10;  // labels; symbols of the vocabulary of a text; outputs of a regression
  Task task = Task::classification;
  double target_mean = 0, target_deviation = 1;  // Task::regression: see ValueTargets
  ModelSettings settings = {};                   // the [model] section
  Options options = {};                          // the same by key, with the own keys of a registered model
  std::uint64_t seed = 1;
  NodeId node;  // the learner's node: seeds dropout and selects the quadratic's a and b
  int nodes = 1;
  int evaluation_threads = 1;  // threads for evaluate(); the result does not depend on it
};

}  // namespace veche
