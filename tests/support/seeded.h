#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/problem.h"
#include "tests/support/train.h"
#include "veche/comm/seeded/seeded.h"

namespace veche::testing {

// Of every test that tries many; `make soak` sets SEEDS.
inline std::uint64_t seeds() {
  const char* given = std::getenv("SEEDS");
  return given == nullptr ? 200 : std::stoull(given);
}

inline int nodes_for(std::uint64_t seed) {
  constexpr std::array kNodes{2, 3, 5};
  return kNodes[seed % kNodes.size()];
}

// No wait of a strategy is as long as that: who would go on by a deadline alone is taken for stuck.
inline SeededOptions in_order_of(std::uint64_t seed) { return {.seed = seed, .stuck_after = Time(3)}; }

inline Config seeded_problem(const Assignments& variant, int nodes, int steps) {
  Config config = quadratic_problem("none", nodes);
  config.set("run.steps=" + std::to_string(steps));
  config.set("data.workers=0");  // no threads but the engine's
  for (const std::string& assignment : variant) config.set(assignment);
  return config;
}

// A run that leaves nothing behind, on the seeded engine.
inline TrainingRequest seeded_request(Settings settings, const SeededOptions& options) {
  TrainingRequest request;
  request.settings = std::move(settings);
  request.keep = false;
  request.cluster = [options](int nodes) { return std::make_unique<SeededCluster>(nodes, options); };
  return request;
}

}  // namespace veche::testing
