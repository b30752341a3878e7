#pragma once

#include <array>
#include <span>

#include "veche/comm/counted.h"
#include "veche/report.h"

namespace veche {

inline constexpr double kSecondsBetweenReports = 0.5;
inline constexpr std::size_t kProgressSample = 256;

// What a node has done since its run began. A plain type, so that nodes can send it.
struct NodeCounters {
  std::uint64_t steps = 0;
  double bytes = 0;                                     // sent by the strategy
  float computing = 0, waiting = 0, communicating = 0;  // seconds
  float staleness = 0;                                  // mean staleness of what it has applied
  BytesByPeer to = {};                                  // empty: not known by peer
};

// A node's progress since its last report.
struct ProgressReport {
  Score train;
  bool interrupted = false;
  NodeCounters going;
  std::array<float, kProgressSample> parameters =
      {};  // an evenly spread sample; unused items are 0 on all nodes

  void sample(std::span<const float> x) {
    const std::size_t stride = std::max<std::size_t>(1, x.size() / kProgressSample);
    for (std::size_t i = 0; i < kProgressSample && i * stride < x.size(); ++i) parameters[i] = x[i * stride];
  }
};

// The progress of all nodes over `seconds`. If the model is in stages, nodes of the same stage are
// compared.
Progress summed(std::span<const ProgressReport> all, std::uint64_t step, double seconds, int stages = 1);

}  // namespace veche
