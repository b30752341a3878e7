#include "veche/graph/topology.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "veche/errors.h"
#include "veche/graph/facts.h"
#include "veche/random.h"

namespace veche {
namespace {

TopologyRequest request(std::string graph, std::string weights = "metropolis",
                        std::optional<int> nodes = {}) {
  TopologyRequest result;
  result.graph = std::move(graph);
  result.weights = std::move(weights);
  result.nodes = nodes;
  return result;
}

std::string refusal(const TopologyRequest& wrong) {
  try {
    make_topology(wrong);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

std::vector<double> mix(const Mixing& mixing, const std::vector<double>& x) {
  std::vector<double> result(x.size(), 0.0);
  for (int i = 0; i < mixing.nodes(); ++i) {
    for (const Weight& weight : mixing.row(i)) {
      result[static_cast<std::size_t>(i)] += weight.value * x[static_cast<std::size_t>(weight.node)];
    }
  }
  return result;
}

double distance_from_mean(const std::vector<double>& x) {
  double mean = 0, sum = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x) sum += (value - mean) * (value - mean);
  return std::sqrt(sum);
}

TEST(Topology, OnePeerExponentialAveragesExactlyForPowersOfTwo) {
  for (const int nodes : {2, 4, 8, 64}) {
    const auto topology = make_topology(request("one-peer-exponential", "metropolis", nodes));
    std::vector<double> x(static_cast<std::size_t>(nodes), 0.0);
    x[1] = 1;
    for (std::uint64_t k = 0; k < topology->period(); ++k) {
      const auto round = topology->at(k);
      for (int i = 0; i < nodes; ++i) EXPECT_EQ(round->readers(i).size(), 1U);
      x = mix(*round, x);
    }
    for (const double value : x) EXPECT_EQ(value, 1.0 / nodes);
    EXPECT_EQ(topology->contraction().residual, 0.0);
  }
  EXPECT_NEAR(*make_topology(request("one-peer-exponential:6"))->contraction().residual, 0.216506, 1e-6);
}

TEST(Topology, MatchingsAreDrawnAlikeByAllAndContractAsExpected) {
  const auto one = make_topology(request("matchings:torus:4x4")),
             two = make_topology(request("matchings:torus:4x4"));
  RandomStream random(3, "matching test");
  double ratio = 0;
  const int rounds = 3000;
  for (std::uint64_t k = 0; k < rounds; ++k) {
    const auto mine = one->at(k), yours = two->at(k);
    for (int i = 0; i < 16; ++i) {
      ASSERT_TRUE(std::ranges::equal(mine->row(i), yours->row(i), [](const Weight& a, const Weight& b) {
        return a.node == b.node && a.value == b.value;
      }));
    }
    // The slowest direction of a torus: a wave along one side.
    std::vector<double> x;
    for (int i = 0; i < 16; ++i) x.push_back(std::cos(M_PI / 2 * (i % 4)));
    const double before = distance_from_mean(x), after = distance_from_mean(mix(*mine, x));
    ratio += after * after / (before * before) / rounds;
  }
  EXPECT_NEAR(ratio, std::pow(one->contraction().rate, 2), 0.01);
  EXPECT_EQ(one->period(), 0U);
}

TEST(Topology, SchedulesGoRound) {
  const auto topology = make_topology(request("schedule:ring:6,star:6"));
  EXPECT_EQ(topology->period(), 2U);
  EXPECT_EQ(topology->at(3)->readers(0).size(), 5U);
  EXPECT_EQ(topology->at(4)->readers(0).size(), 2U);
  EXPECT_LT(topology->contraction().rate, 1);

  const auto path = std::filesystem::path(testing::TempDir()) / "topology_test_rounds.json";
  std::ofstream(path)
      << R"({"rounds": [{"nodes": 4, "edges": [[0, 1], [2, 3]]}, {"nodes": 4, "edges": [[1, 2], [0, 3]]}]})";
  const auto listed = make_topology(request("file:" + path.string()));
  EXPECT_EQ(listed->contraction().residual, 0.0);  // two rounds of pairs average four nodes
  EXPECT_EQ(listed->graph().edges().size(), 4U);
  std::filesystem::remove(path);
}

TEST(Topology, WeightsOfAFileComeBack) {
  const auto path = std::filesystem::path(testing::TempDir()) / "topology_test_weights.json";
  std::ofstream(path)
      << R"({"nodes": 3, "edges": [[0, 1], [1, 2]], "weights": [[0, 1, 0.5], [1, 2, 0.3], [0, 0, 0.5]]})";
  const auto topology = make_topology(request("file:" + path.string(), "file"));
  EXPECT_EQ(weight_between(*topology->at(0), 2, 1), 0.3);
  EXPECT_DOUBLE_EQ(weight_between(*topology->at(0), 1, 1), 0.2);
  std::filesystem::remove(path);
}

TEST(Topology, RefusesWhatCannotTrain) {
  EXPECT_NE(refusal(request("ring:8", "metropolis-hastings")).find("never make the nodes"),
            std::string::npos);
  EXPECT_NE(refusal(request("ring:8", "metropolis-hastings")).find("use metropolis"), std::string::npos);
  EXPECT_NE(refusal(request("one-peer-exponential:8", "max-degree")).find("never"), std::string::npos);
  EXPECT_NE(refusal(request("ring:8", "optimum")).find("did you mean 'optimal'"), std::string::npos);
  EXPECT_NE(refusal(request("ring:8", "file")).find("file:PATH"), std::string::npos);
  EXPECT_NE(refusal(request("erdos-renyi:12:0.05")).find("is not connected: {"), std::string::npos);
  EXPECT_NE(refusal(request("schedule:ring:6,ring:7")).find("the same nodes"), std::string::npos);
  EXPECT_NE(refusal(request("schedule:")).find("lists its graphs"), std::string::npos);
  EXPECT_NE(refusal(request("matchings:exponential:8")).find("directed"), std::string::npos);
  EXPECT_NE(refusal(request("ring:8", "metropolis", 4)).find("cluster has 4"), std::string::npos);
  EXPECT_EQ(build_topology(request("ring:8", "metropolis-hastings"))->contraction().rate, 1);
}

TEST(Topology, OneWayEdgesThatMoveTheAverageNeedAStrategyForThem) {
  const auto path = std::filesystem::path(testing::TempDir()) / "topology_test_directed.edges";
  std::ofstream(path) << "directed\n0 1\n1 2\n2 0\n0 2\n";
  TopologyRequest wanted = request("file:" + path.string());
  EXPECT_NE(refusal(wanted).find("one way only"), std::string::npos);
  wanted.directed_allowed = true;
  EXPECT_EQ(make_topology(wanted)->graph().kind(), Graph::Kind::directed);
  std::filesystem::remove(path);
}

TEST(Topology, DescribesItself) {
  EXPECT_EQ(make_topology(request("torus", "optimal", 16))->describe(), "torus:4x4, optimal");
}

}  // namespace
}  // namespace veche
