#pragma once

#include <sstream>
#include <string>

#include "veche/config.h"
#include "veche/random.h"

namespace veche::testing {

constexpr int kProblemSteps = 60;

// f_i(x) = 1/2 a_i (x-b_i)^2 in three dimensions, a and b drawn from a seed.
inline Config quadratic_problem(const std::string& strategy, int nodes) {
  RandomStream random(5, "problem", static_cast<std::uint64_t>(nodes));
  const auto numbers = [&](double from, double to) {
    std::ostringstream lists;
    for (int i = 0; i < nodes; ++i) {
      lists << (i == 0 ? "[[" : ",[");
      for (int d = 0; d < 3; ++d) lists << (d == 0 ? "" : ",") << from + (to - from) * random.uniform();
      lists << "]";
    }
    return lists.str() + "]";
  };
  Config config = Config::from_text(R"(
    [model]
    name = "quadratic"
    [optimizer]
    name = "sgd"
    lr = 0.05
  )");
  config.set("run.steps=" + std::to_string(kProblemSteps));
  config.set("model.a=" + numbers(0.5, 2));
  config.set("model.b=" + numbers(-1, 1));
  config.set("strategy.name=" + strategy);
  config.set("cluster.nodes=" + std::to_string(nodes));
  return config;
}

// Every node has the same problem: all follow the same path.
inline void make_equal(Config& config, int nodes) {
  std::string ones = "[1";
  for (int i = 1; i < nodes; ++i) ones += ",1";
  config.set("model.a=" + ones + "]");
  config.set("model.b=" + ones + "]");
}

}  // namespace veche::testing
