#pragma once

#include <cstdint>
#include <optional>

#include "veche/compress/codec_spec.h"
#include "veche/options.h"
#include "veche/settings.h"
#include "veche/strategy_info.h"

namespace veche {

// Built from the [compress] section, the same on every node. A run without a codec has none.
class Compression {
 public:
  CodecSpec spec;
  bool feedback = false;         // error feedback, in streams that keep no copies of models
  double gamma = 1;              // CHOCO's step size
  std::size_t small = 0;         // tensors with fewer floats are sent uncompressed
  std::uint64_t first_step = 0;  // earlier steps exchange floats
  bool vote = false;             // `sign`: take the sign that most nodes have
  float momentum = 0, clip = 0;  // for `dgc`: of the optimiser that it replaces
  double steps_per_epoch = 0;    // for its warm-up
};

// What else decides whether a run can use its codec.
struct CompressedRun {
  const StrategyInfo& strategy;
  const std::vector<StrategyInfo>& known;  // strategies that a refusal may suggest
  const Options& strategy_options;
  const OptimizerSettings& optimizer;
  bool plain_sgd = false;  // the optimizer is SGD, without Nesterov's form
  double steps_per_epoch = 0;
  bool async = false;
  bool fixed_graph = true;      // the neighbours are the same in every round
  bool symmetric_graph = true;  // every edge goes both ways, with the same weight
  bool equal_nodes = true;      // all nodes mix after the same steps
  bool equal_start = true;      // their models start equal
};

// Throws RequestError for a wrong value, and for a codec that does not work with the strategy,
// naming the nearest pair that does.
std::optional<Compression> read_compression(const CompressSettings& compress, const CompressedRun& run);

}  // namespace veche
