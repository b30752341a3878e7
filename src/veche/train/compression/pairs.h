#pragma once

#include "veche/train/compression/compression.h"

namespace veche {

// How a strategy uses a codec (docs/compression.md).
enum class CodedExchange {
  nothing,    // it sends nothing
  unknown,    // a strategy of a program's own
  gradients,  // sums of gradients, or gradients to a server
  ways,       // sums of the ways that models went
  copies,     // models, as differences from copies that both ends keep: CHOCO
  both,       // gradients inside groups, models between them
};
CodedExchange coded_exchange(const std::string& strategy);

// Throws RequestError with the reason and the nearest pair that works.
void check_pair(const Compression& compression, const Options& compress, const CompressedRun& run);

}  // namespace veche
