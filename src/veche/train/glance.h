#pragma once

#include <array>
#include <span>

#include "veche/train/observer.h"

namespace veche {

inline constexpr double kSecondsBetweenGlances = 0.5;
inline constexpr std::size_t kGlanceSample = 256;

// What a node tells of how it goes.
struct Glance {
  Score train;
  bool interrupted = false;
  std::array<float, kGlanceSample> parameters = {};  // evenly spread; unused places are 0 everywhere

  void sample(std::span<const float> x) {
    const std::size_t stride = std::max<std::size_t>(1, x.size() / kGlanceSample);
    for (std::size_t i = 0; i < kGlanceSample && i * stride < x.size(); ++i) parameters[i] = x[i * stride];
  }
};

// All nodes' together, over `seconds`.
Progress summed(std::span<const Glance> all, std::uint64_t step, double seconds);

}  // namespace veche
