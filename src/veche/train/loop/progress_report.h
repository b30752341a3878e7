#pragma once

#include <array>
#include <span>

#include "veche/report.h"

namespace veche {

inline constexpr double kSecondsBetweenReports = 0.5;
inline constexpr std::size_t kProgressSample = 256;

// What a node tells of how it goes.
struct ProgressReport {
  Score train;
  bool interrupted = false;
  std::array<float, kProgressSample> parameters = {};  // evenly spread; unused items are 0 everywhere

  void sample(std::span<const float> x) {
    const std::size_t stride = std::max<std::size_t>(1, x.size() / kProgressSample);
    for (std::size_t i = 0; i < kProgressSample && i * stride < x.size(); ++i) parameters[i] = x[i * stride];
  }
};

// Those of all nodes, over `seconds`. Of a model in stages nodes of the same stage are compared.
Progress summed(std::span<const ProgressReport> all, std::uint64_t step, double seconds, int stages = 1);

}  // namespace veche
