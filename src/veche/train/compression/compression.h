#pragma once

#include <cstdint>
#include <optional>

#include "veche/compress/codec_spec.h"
#include "veche/options.h"

namespace veche {

// The section [compress] come true: the same on every node. There is none where floats travel as they are.
class Compression {
 public:
  CodecSpec spec;
  bool feedback = false;         // codecs keep what they leave out, where no copies of models do that
  double gamma = 1;              // CHOCO's step size
  std::size_t small = 0;         // tensors with fewer floats travel as they are
  std::uint64_t first_step = 0;  // steps before it exchange floats
  bool vote = false;             // `sign`: the sign that most nodes have
  float momentum = 0, clip = 0;  // for `dgc`: of the optimiser that it stands in for
  double steps_per_epoch = 0;    // for its warm-up
};

// What else a run has that decides over its codec.
struct CompressedRun {
  std::string strategy;  // its name
  const Options& strategy_options;
  const Options& optimizer;
  double steps_per_epoch = 0;
  bool async = false;
  bool fixed_graph = true;      // the neighbours are the same in every round
  bool symmetric_graph = true;  // whoever reads is read, with the same weight
  bool equal_nodes = true;      // all nodes mix after the same steps
  bool equal_start = true;      // their models begin alike
};

// Throws RequestError for what cannot be, and for a codec that makes no sense with the strategy, with the
// nearest pair that works.
std::optional<Compression> read_compression(const Options& compress, const CompressedRun& run);

}  // namespace veche
