#include "veche/graph/weights/optimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "veche/errors.h"
#include "veche/graph/families/random_graphs.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/weights/mixing.h"
#include "veche/graph/weights/optimal_methods.h"
#include "veche/random.h"

namespace veche {
namespace {

nlohmann::json stored_graphs() {
  std::ifstream file(VECHE_GRAPHS_JSON);
  return nlohmann::json::parse(file);
}

Graph graph_of(const nlohmann::json& stored) {
  std::vector<Edge> edges;
  for (const auto& edge : stored["edges"]) edges.push_back({edge[0], edge[1]});
  return Graph(stored["n"], std::move(edges));
}

TEST(Rules, GiveTheStoredRhoOnEveryStoredGraph) {
  const nlohmann::json all = stored_graphs();
  for (const auto& [name, stored] : all.items()) {
    const Graph graph = graph_of(stored);
    for (const auto& [rule, rho] : stored["rho"].items()) {
      EXPECT_NEAR(spectral_radius(make_mixing(graph, rule)), rho.get<double>(), 1e-6) << name << ", " << rule;
    }
  }
}

TEST(Optimal, IsCertified) {
  const nlohmann::json all = stored_graphs();
  for (const auto& [name, stored] : all.items()) {
    const Graph graph = graph_of(stored);
    for (const Sign sign : {Sign::free, Sign::nonnegative}) {
      const OptimalWeights best = optimal_weights(graph, sign);
      EXPECT_LE(best.bound, best.rho) << name;
      EXPECT_LT(best.rho - best.bound, 1e-6) << name << (sign == Sign::free ? " free" : " nonnegative");
    }
  }
}

double best(const std::string& spec, Sign sign = Sign::free) {
  return optimal_weights(read_spec(spec, {}).graph, sign).rho;
}

TEST(Optimal, ClosedForms) {
  for (const int n : {4, 8, 12, 64}) {
    const double c = std::cos(2 * std::numbers::pi / n);
    EXPECT_NEAR(best("ring:" + std::to_string(n)), (1 + c) / (3 - c), 1e-7);
  }
  for (const int n : {2, 3, 6, 15}) {
    const std::string size = std::to_string(n);
    EXPECT_NEAR(best("path:" + size), std::cos(std::numbers::pi / n), 1e-7);
    EXPECT_NEAR(best("star:" + size), n == 2 ? 0 : (n - 1.0) / (n + 1), 1e-7);
    EXPECT_NEAR(best("star:" + size, Sign::nonnegative), 1 - 1.0 / (n - 1), 1e-7);
    EXPECT_NEAR(best("complete:" + size), 0, 1e-7);
  }
  EXPECT_NEAR(best("hypercube:5"), 4.0 / 6, 1e-9);
  EXPECT_NEAR(best("torus:4x6"), 5.0 / 7, 1e-6);
}

// Both solvers must agree where both apply.
TEST(Optimal, EigenvaluesAndMatricesAgree) {
  for (const char* spec :
       {"torus:4x6", "torus:3x5", "chords:15:4", "circulant:14:1+3", "torus:3x4x3", "ring:7"}) {
    const Graph graph = read_spec(spec, {}).graph;
    const auto translation = Translation::find(laplacian(graph));
    ASSERT_TRUE(translation) << spec;
    const std::vector<double> start(graph.edges().size(), 1.0 / (1 + graph.degree(0)));
    for (const Sign sign : {Sign::free, Sign::nonnegative}) {
      const OptimalWeights one = optimal_by_eigenvalues(graph, *translation, sign);
      const OptimalWeights two =
          optimal_by_matrices(graph, sign, start, spectral_radius(mixing_from_edges(graph, start)));
      const double rho = spectral_radius(mixing_from_edges(graph, one.weights));
      EXPECT_NEAR(rho, spectral_radius(mixing_from_edges(graph, two.weights)), 1e-6) << spec;
      EXPECT_LE(one.bound, rho + 1e-12);
      EXPECT_LT(rho - one.bound, 1e-6) << spec;
    }
  }
  EXPECT_FALSE(Translation::find(laplacian(read_spec("grid:4x4", {}).graph)));
  EXPECT_FALSE(Translation::find(laplacian(read_spec("regular:20:3@2", {}).graph)));
}

TEST(Optimal, IsNeverBeatenAndItsBoundHolds) {
  RandomStream random(11, "optimal test");
  for (int trial = 0; trial < 12; ++trial) {
    const Graph graph = erdos_renyi_graph(6 + static_cast<int>(random.below(14)), 0.45, random.next());
    if (graph.components().size() != 1) continue;
    const OptimalWeights free = optimal_weights(graph, Sign::free),
                         chain = optimal_weights(graph, Sign::nonnegative);
    EXPECT_LE(free.rho, chain.rho + 1e-7);
    EXPECT_LT(free.rho - free.bound, 1e-5);
    EXPECT_LT(chain.rho - chain.bound, 1e-5);
    for (const char* rule : {"metropolis", "metropolis-hastings", "max-degree", "uniform"}) {
      EXPECT_LE(chain.rho, spectral_radius(make_mixing(graph, rule)) + 1e-7) << rule;
    }
    EXPECT_LE(free.rho, spectral_radius(make_mixing(graph, "best-constant")) + 1e-7);
    const Mixing mixing = mixing_from_edges(graph, chain.weights);
    for (int i = 0; i < graph.nodes(); ++i) {
      for (const Weight& weight : mixing.row(i)) EXPECT_GE(weight.value, -1e-9);
    }
    // Arbitrary weights satisfy the bound.
    std::vector<double> shaken = free.weights;
    for (double& weight : shaken) weight += 0.05 * random.normal();
    EXPECT_GE(spectral_radius(mixing_from_edges(graph, shaken)), free.bound);
  }
}

TEST(Optimal, DirectedExponentialGraphs) {
  for (const int n : {2, 5, 6, 8, 12, 32, 50, 200}) {
    const Graph graph = read_spec("exponential:" + std::to_string(n), {}).graph;
    const double uniform = spectral_radius(make_mixing(graph, "uniform"));
    const double constant = spectral_radius(make_mixing(graph, "best-constant"));
    for (const Sign sign : {Sign::free, Sign::nonnegative}) {
      const OptimalWeights found = optimal_weights(graph, sign);
      EXPECT_LE(found.rho, uniform + 1e-7) << n;
      EXPECT_LE(found.rho, (sign == Sign::free ? constant : 1.0) + 1e-7);
      EXPECT_LT(found.rho - found.bound, 1e-6) << n;
    }
    EXPECT_LE(constant, uniform + 1e-7);
  }
}

TEST(Optimal, RefusesWhatWouldTakeTooLong) {
  EXPECT_THROW(optimal_weights(regular_graph(4000, 4, 1), Sign::free), RequestError);
}

}  // namespace
}  // namespace veche
