#include "veche/graph/optimal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "veche/graph/mixing.h"

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

}  // namespace
}  // namespace veche
