#include "veche/graph.h"

#include <gtest/gtest.h>

#include "veche/errors.h"
#include "veche/graph/facts.h"
#include "veche/graph/families/families.h"
#include "veche/graph/families/random_graphs.h"

namespace veche {
namespace {

std::string refusal(int nodes, std::vector<Edge> edges, Graph::Kind kind = Graph::Kind::undirected) {
  try {
    Graph(nodes, std::move(edges), kind);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(Graph, KeepsEdgesOnceAndNeighboursSorted) {
  const Graph graph(4, {{2, 0}, {3, 2}, {1, 2}});
  EXPECT_EQ(std::vector<Edge>(graph.edges().begin(), graph.edges().end()),
            (std::vector<Edge>{{0, 2}, {1, 2}, {2, 3}}));
  const auto around = graph.neighbors(2);
  EXPECT_EQ(std::vector<int>(around.begin(), around.end()), (std::vector<int>{0, 1, 3}));
}

TEST(Graph, RefusesWhatIsNoGraph) {
  EXPECT_NE(refusal(1, {}).find("at least 2 nodes"), std::string::npos);
  EXPECT_NE(refusal(3, {{1, 1}}).find("joined to itself"), std::string::npos);
  EXPECT_NE(refusal(3, {{0, 3}}).find("names node 3"), std::string::npos);
  EXPECT_NE(refusal(3, {{0, -1}}).find("names node -1"), std::string::npos);
  EXPECT_NE(refusal(3, {{0, 1}, {1, 0}}).find("listed twice"), std::string::npos);
  EXPECT_EQ(refusal(3, {{0, 1}, {1, 0}}, Graph::Kind::directed), "");
}

TEST(Graph, ComponentsReachEachOtherBothWays) {
  const Graph apart(5, {{0, 1}, {3, 4}});
  EXPECT_EQ(apart.components(), (std::vector<std::vector<int>>{{0, 1}, {2}, {3, 4}}));
  const Graph one_way(4, {{0, 1}, {1, 0}, {1, 2}, {2, 3}, {3, 2}}, Graph::Kind::directed);
  EXPECT_EQ(one_way.components(), (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(exponential_graph(7).components().size(), 1U);
}

TEST(Families, HaveTheEdgesTheyShould) {
  const int six[] = {6, 6}, long_box[] = {3, 4, 5};
  EXPECT_EQ(torus_graph(six).edges().size(), 72U);
  EXPECT_EQ(torus_graph(long_box).edges().size(), 180U);
  EXPECT_EQ(grid_graph(six).edges().size(), 60U);
  EXPECT_EQ(hypercube_graph(4).edges().size(), 32U);
  EXPECT_EQ(tree_graph(10, 3).edges().size(), 9U);
  EXPECT_EQ(ring_graph(2).edges().size(), 1U);
  for (const auto& [chords, edges] : {std::pair{2, 100}, {4, 150}, {8, 250}, {3, 125}, {47, 1225}}) {
    const Graph graph = chords_graph(50, chords);
    EXPECT_EQ(static_cast<int>(graph.edges().size()), edges) << chords;
    for (int i = 0; i < 50; ++i) EXPECT_EQ(graph.degree(i), chords + 2);
  }
  EXPECT_EQ(chords_graph(11, 8).edges().size(), 55U);  // the complete graph
}

TEST(RandomGraphs, AreRegularConnectedAndRepeatable) {
  for (const auto& [nodes, degree] : {std::pair{10, 3}, {11, 4}, {50, 3}, {8, 6}, {200, 7}, {9, 8}}) {
    const Graph graph = regular_graph(nodes, degree, 5);
    for (int i = 0; i < nodes; ++i) EXPECT_EQ(graph.degree(i), degree);
    EXPECT_EQ(graph.components().size(), 1U);
    const Graph again = regular_graph(nodes, degree, 5);
    EXPECT_TRUE(std::ranges::equal(graph.edges(), again.edges()));
    const Graph other = regular_graph(nodes, degree, 6);
    EXPECT_TRUE(degree >= nodes - 2 || !std::ranges::equal(graph.edges(), other.edges()));
  }
  EXPECT_THROW(regular_graph(9, 3, 1), RequestError);
}

TEST(RandomGraphs, ErdosRenyiHasTheExpectedNumberOfEdges) {
  const double edges = static_cast<double>(erdos_renyi_graph(1000, 0.02, 3).edges().size());
  EXPECT_NEAR(edges, 0.02 * 1000 * 999 / 2, 4 * 100);  // four standard deviations
  EXPECT_EQ(erdos_renyi_graph(20, 1.0, 3).edges().size(), 190U);
}

TEST(RandomGraphs, ExpandersHaveALargeGap) {
  for (const int nodes : {6, 13, 64, 500}) {
    const Graph graph = expander_graph(nodes, 1);
    const GraphFacts facts = facts_of(graph);
    EXPECT_EQ(facts.degree_max, 4);
    EXPECT_GT(*facts.algebraic_connectivity, 0.45)
        << nodes;  // 4 - 2 sqrt(3) = 0.536 is the limit for large graphs
  }
}

TEST(Facts, DiametersOfKnownGraphs) {
  const int sides[] = {4, 6};
  EXPECT_EQ(facts_of(ring_graph(9)).diameter, 4);
  EXPECT_EQ(facts_of(torus_graph(sides)).diameter, 5);
  EXPECT_EQ(facts_of(hypercube_graph(5)).diameter, 5);
  EXPECT_EQ(facts_of(path_graph(30000)).diameter, 29999);
  EXPECT_EQ(facts_of(ring_graph(30000)).diameter, 15000);
}

}  // namespace
}  // namespace veche
