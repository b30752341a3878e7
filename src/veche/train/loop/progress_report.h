#pragma once

#include <array>
#include <span>

#include "veche/comm/counted.h"
#include "veche/report.h"

namespace veche {

inline constexpr double kSecondsBetweenReports = 0.5;
inline constexpr std::size_t kProgressSample = 256;

// Where a node is, since its run began: plain, so that nodes can send it.
struct NodeGoing {
  std::uint64_t steps = 0;
  double bytes = 0;                                     // sent by its strategy
  float computing = 0, waiting = 0, communicating = 0;  // seconds
  float staleness = 0;                                  // the mean of what it has applied
  BytesByPeer to = {};                                  // none: not known by peer
};

// What a node tells of how it goes.
struct ProgressReport {
  Score train;
  bool interrupted = false;
  NodeGoing going;
  std::array<float, kProgressSample> parameters = {};  // evenly spread; unused items are 0 everywhere

  void sample(std::span<const float> x) {
    const std::size_t stride = std::max<std::size_t>(1, x.size() / kProgressSample);
    for (std::size_t i = 0; i < kProgressSample && i * stride < x.size(); ++i) parameters[i] = x[i * stride];
  }
};

// Those of all nodes, over `seconds`. Of a model in stages nodes of the same stage are compared.
Progress summed(std::span<const ProgressReport> all, std::uint64_t step, double seconds, int stages = 1);

}  // namespace veche
