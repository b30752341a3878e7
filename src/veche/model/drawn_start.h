#pragma once

#include <span>
#include <string>

#include "veche/model_spec.h"
#include "veche/random.h"

namespace veche {

// For learners whose parameters have a start that is given: with model.start = "different" they become
// numbers of the standard normal distribution, which the seed decides, and that is each node's own.
inline void draw_start(std::span<float> x, const ModelSpec& spec) {
  if (spec.options.get<std::string>("start", "equal") != "different") return;
  RandomStream random(spec.seed, "start");
  for (float& each : x) each = static_cast<float>(random.normal());
}

}  // namespace veche
