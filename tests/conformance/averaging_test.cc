// Averaging alone, on the threads engine: random vectors approach their mean at the rate predicted
// by the spectrum.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/train.h"
#include "veche/graph/topology.h"
#include "veche/graph/weights/mixing.h"
#include "veche/random.h"

namespace veche {
namespace {

struct Case {
  std::string graph;
  std::string weights;
};

constexpr std::size_t kLength = 64;

class Averaging : public ::testing::TestWithParam<Case> {
 protected:
  static double spread_after(int rounds, int nodes, const Case& c) {
    const auto still = [](std::span<const float>, std::span<float> g) { std::ranges::fill(g, 0.0F); };
    const auto result =
        testing::train({"cluster.nodes=" + std::to_string(nodes), "topology.graph=" + c.graph,
                        "topology.weights=" + c.weights, "run.steps=" + std::to_string(rounds)},
                       [&](NodeId node) {
                         RandomStream random(3, "start", static_cast<std::uint64_t>(node.value));
                         std::vector<float> start(kLength);
                         for (float& x : start) x = static_cast<float>(random.normal());
                         return std::make_unique<testing::ToyLearner>(start, still);
                       });
    double squares = 0;
    for (const NodeReport& node : result.last.nodes) squares += node.from_mean.l2_squared;
    return std::sqrt(squares);
  }
};

TEST_P(Averaging, ShrinksAtThePredictedRate) {
  const auto topology =
      make_topology({.graph = GetParam().graph, .weights = GetParam().weights, .nodes = {}});
  const double rho = spectral_radius(*topology->at(0));
  // Late enough for the slowest mode to dominate, early enough for single precision not to matter.
  const int first = static_cast<int>(std::ceil(std::log(0.1) / std::log(rho)));
  const int last = static_cast<int>(std::ceil(std::log(0.001) / std::log(rho)));
  ASSERT_GT(last, first);
  const double before = spread_after(first, topology->nodes(), GetParam());
  const double after = spread_after(last, topology->nodes(), GetParam());
  const double rate = std::pow(after / before, 1.0 / (last - first));
  EXPECT_NEAR(std::log(rate), std::log(rho), 0.05 * std::abs(std::log(rho)))
      << "rate " << rate << ", rho " << rho;
}

INSTANTIATE_TEST_SUITE_P(Graphs, Averaging,
                         ::testing::Values(Case{"ring:8", "metropolis"}, Case{"ring:16", "optimal"},
                                           Case{"path:8", "metropolis"}, Case{"star:9", "metropolis"},
                                           Case{"torus:4x4", "metropolis"}, Case{"torus:6x6", "optimal"},
                                           Case{"grid:4x5", "best-constant"},
                                           Case{"hypercube:4", "metropolis"}, Case{"tree:15:2", "max-degree"},
                                           Case{"chords:20:2", "optimal-nonnegative"},
                                           Case{"expander:16", "optimal"},
                                           Case{"erdos-renyi:16:0.4@2", "metropolis"}),
                         [](const auto& info) {
                           std::string name = info.param.graph + "_" + info.param.weights;
                           std::erase_if(name, [](char c) {
                             return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_';
                           });
                           return name;
                         });

}  // namespace
}  // namespace veche
