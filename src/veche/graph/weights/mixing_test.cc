#include "veche/graph/weights/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "veche/errors.h"
#include "veche/graph/facts.h"
#include "veche/graph/families/families.h"
#include "veche/graph/families/random_graphs.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/topology_kinds.h"
#include "veche/random.h"

namespace veche {
namespace {

double rho(const std::string& spec, const std::string& rule) {
  return spectral_radius(make_mixing(read_spec(spec, {}).graph, rule));
}

double turn(int n) { return std::cos(2 * std::numbers::pi / n); }

TEST(Mixing, ChecksRowsAndKnowsReaders) {
  EXPECT_THROW(Mixing({{{0, 0.5}, {1, 0.4}}, {{1, 1.0}}}), RequestError);
  EXPECT_THROW(Mixing({{{0, 1.0}, {2, 0.0}}, {{1, 1.0}}}), RequestError);
  EXPECT_THROW(Mixing({{{0, 0.5}, {0, 0.5}}, {{1, 1.0}}}), RequestError);
  EXPECT_THROW(Mixing({{{0, NAN}}, {{1, 1.0}}}), RequestError);
  const Mixing mixing({{{1, 1.0}}, {{1, 0.5}, {0, 0.5}}});
  EXPECT_EQ(mixing.row(0).size(), 2U);  // includes itself, with weight 0
  EXPECT_EQ(mixing.row(1)[0].node, 0);
  EXPECT_EQ(std::vector<int>(mixing.readers(0).begin(), mixing.readers(0).end()), std::vector<int>{1});
}

TEST(Rules, ClosedForms) {
  for (const int n : {3, 4, 5, 8, 9, 33, 100}) {
    const std::string size = std::to_string(n);
    EXPECT_NEAR(rho("ring:" + size, "metropolis"),
                std::max(std::abs(1 + 2 * turn(n)), n % 2 == 0 ? 1.0 : 0.0) / 3, 1e-9);
    EXPECT_NEAR(rho("star:" + size, "metropolis"), 1 - 1.0 / n, 1e-9);
    EXPECT_NEAR(rho("star:" + size, "best-constant"), (n - 1.0) / (n + 1), 1e-9);
    EXPECT_NEAR(rho("complete:" + size, "metropolis"), 0, 1e-9);
    EXPECT_NEAR(rho("complete:" + size, "uniform"), 0, 1e-9);
  }
  for (const int n : {4, 8, 20, 600}) {  // the last by the symmetry of large rings
    EXPECT_NEAR(rho("ring:" + std::to_string(n), "best-constant"), (1 + turn(n)) / (3 - turn(n)), 1e-9);
    EXPECT_EQ(rho("ring:" + std::to_string(n), "metropolis-hastings"), 1);
  }
  for (const int a : {4, 6, 10, 30}) {
    const double s = 1 - turn(a);
    const std::string torus = "torus:" + std::to_string(a) + "x" + std::to_string(a);
    EXPECT_NEAR(rho(torus, "metropolis"), std::max(1 - 0.4 * s, 0.6), 1e-9);
    EXPECT_NEAR(rho(torus, "best-constant"), (4 - s) / (4 + s), 1e-9);
  }
  for (const int d : {1, 3, 6, 11}) {
    EXPECT_NEAR(rho("hypercube:" + std::to_string(d), "best-constant"), (d - 1.0) / (d + 1), 1e-9);
  }
  for (const int n : {4, 6, 8, 12, 50, 1000}) {
    const double t = std::ceil(std::log2(n));
    EXPECT_NEAR(rho("exponential:" + std::to_string(n), "metropolis"), (t - 1) / (t + 1), 1e-9) << n;
  }
}

TEST(Rules, LargeGraphsNeedNoDenseMatrix) {
  // Lanczos, factorisation and symmetry give the same numbers as closed forms.
  const double step = 2 * std::numbers::pi / 20000;
  EXPECT_NEAR(rho("ring:20000", "metropolis"), (1 + 2 * std::cos(step)) / 3, 1e-12);
  EXPECT_NEAR(rho("path:20000", "best-constant"), std::cos(std::numbers::pi / 20000), 1e-10);
  EXPECT_NEAR(rho("star:3000", "metropolis"), 1 - 1.0 / 3000, 1e-9);
  // Eigenvalues of a grid are sums of those of two paths.
  const auto path = [](int n, int k) { return 2 - 2 * std::cos(std::numbers::pi * k / n); };
  const double low = path(40, 1), high = path(30, 29) + path(40, 39);
  EXPECT_NEAR(rho("grid:30x40", "best-constant"), (high - low) / (high + low), 1e-9);
}

TEST(Rules, PairGossipContractions) {
  EXPECT_NEAR(pair_contraction(ring_graph(8)), 0.963388, 1e-6);
  const int six[] = {6, 6};
  EXPECT_NEAR(pair_contraction(torus_graph(six)), 0.993056, 1e-6);
  EXPECT_NEAR(pair_contraction(complete_graph(8)), 6.0 / 7, 1e-12);
}

TEST(Rules, UnknownOnesAreRefusedWithTheNearest) {
  try {
    make_mixing(ring_graph(4), "metroplis");
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'metropolis'"), std::string::npos);
  }
  const Graph lopsided(3, {{0, 1}, {1, 2}, {2, 0}, {0, 2}}, Graph::Kind::directed);
  EXPECT_THROW(make_mixing(lopsided, "best-constant"), RequestError);
  EXPECT_THROW(make_mixing(lopsided, "optimal"), RequestError);
}

// Every rule on graphs of all kinds, connected or not.
TEST(Rules, AreSymmetricSumToOneAndConvergeIffConnected) {
  RandomStream random(7, "property test");
  for (int trial = 0; trial < 60; ++trial) {
    const int nodes = 2 + static_cast<int>(random.below(20));
    const double probability = 0.05 + 0.6 * random.uniform();
    const Graph graph = erdos_renyi_graph(nodes, probability, random.next());
    if (graph.edges().empty()) continue;
    const bool connected = graph.components().size() == 1;
    for (const std::string& rule : weight_rules()) {
      if (rule == "file:") continue;
      if (!connected && (rule.starts_with("optimal") || rule == "best-constant"))
        continue;  // these rules require it
      const Mixing mixing = make_mixing(graph, rule);
      for (int i = 0; i < nodes; ++i) {
        double sum = 0;
        for (const Weight& weight : mixing.row(i)) {
          sum += weight.value;
          EXPECT_NEAR(weight.value, weight_between(mixing, weight.node, i), 1e-12);
        }
        EXPECT_NEAR(sum, 1, 1e-12);
      }
      const double radius = spectral_radius(mixing);
      if (!connected) {
        EXPECT_GE(radius, 1) << rule;
      } else if (rule != "metropolis-hastings" && rule != "max-degree") {  // these two may only rotate values
        EXPECT_LT(radius, 1) << rule << " on " << nodes << " nodes, " << graph.edges().size() << " edges";
      }
    }
  }
}

}  // namespace
}  // namespace veche
