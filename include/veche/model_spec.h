#pragma once

#include <cstdint>
#include <string>

#include "veche/batch.h"
#include "veche/node_id.h"
#include "veche/options.h"

namespace veche {

// What a learner is made from. Equal specs (but for `node`) give equal initial parameters.
struct ModelSpec {
  std::string name = "cnn";
  Shape input;  // of one sample, from the data set
  int classes = 10;
  Options options;  // the keys of the section [model]
  std::uint64_t seed = 1;
  NodeId node;  // whose learner: decides the stream of dropout, and the quadratic's a and b
  int nodes = 1;
  int evaluation_threads = 1;  // that evaluate() may use; what it returns does not depend on them
};

}  // namespace veche
