#pragma once

#include <span>
#include <string>

#include "veche/model_spec.h"
#include "veche/random.h"

namespace veche {

// For learners with fixed initial parameters: with model.start = "different", draws them from the
// standard normal distribution, determined by seed and node.
inline void draw_start(std::span<float> x, const ModelSpec& spec) {
  if (spec.settings.start != ModelStart::different) return;
  RandomStream random(spec.seed, "start");
  for (float& each : x) each = static_cast<float>(random.normal());
}

}  // namespace veche
