#include "veche/graph/families/spec.h"

#include <gtest/gtest.h>

#include "veche/errors.h"

namespace veche {
namespace {

std::string refusal(const std::string& spec, std::optional<int> nodes = {}) {
  try {
    read_spec(spec, {nodes, 1, false});
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(Spec, TakesTheClustersNodesWhenNoneAreGiven) {
  const auto name = [](const std::string& spec, int nodes) {
    return read_spec(spec, {nodes, 1, false}).name;
  };
  EXPECT_EQ(name("ring", 5), "ring:5");
  EXPECT_EQ(name("torus", 36), "torus:6x6");
  EXPECT_EQ(name("torus", 24), "torus:4x6");
  EXPECT_EQ(name("grid", 14), "grid:2x7");
  EXPECT_EQ(name("hypercube", 16), "hypercube:4");
  EXPECT_EQ(name("chords:2", 50), "chords:50:2");
  EXPECT_EQ(name("tree:3", 13), "tree:13:3");
  EXPECT_EQ(name("tree", 13), "tree:13:2");
  EXPECT_EQ(name("regular:4@9", 20), "regular:20:4@9");
  EXPECT_EQ(name("erdos-renyi:0.5", 20), "erdos-renyi:20:0.5");
  EXPECT_EQ(name("circulant:1+4", 16), "circulant:16:1+4");
  EXPECT_EQ(name("exponential", 6), "exponential:6");
}

TEST(Spec, RefusesInOneSentence) {
  const std::pair<std::string, std::string> cases[] = {
      {"rign:8", "did you mean 'ring'"},
      {"ring:1", "at least 2 nodes, not 1"},
      {"ring:x", "'x' where a number of nodes should be"},
      {"ring", "needs its number of nodes"},
      {"ring:8:2", "more than 1 number"},
      {"ring:8@3", "nothing in it is random"},
      {"torus:2x6", "sides of at least 3, not 2"},
      {"torus:6", "needs its sides"},
      {"hypercube:0", "dimension of 1 to 24"},
      {"chords:50:48", "1 to 47 chords"},
      {"chords:7:3", "even number of nodes"},
      {"regular:7:3", "must be even"},
      {"regular:7", "needs its number of nodes"},
      {"erdos-renyi:8:1.5", "probability"},
      {"circulant:8:5", "a hop of 5"},
      {"complete:1", "at least 2 nodes"},
      {"path:-4", "at least 2 nodes"},
      {"complete:100000", "is too large"},
      {"ring:2000000000", "is too large"},
      {"torus:100000x100000", "is too large"},
      {"hypercube:24", "is too large"},
      {"regular:1000000:1000", "is too large"},
      {"exponential:2000000000", "is too large"},
      {"ring:99999999999", "where a number of nodes should be"},
      {"file:nowhere.json", "cannot be read"},
      {"", "there is no graph ''"},
  };
  for (const auto& [spec, words] : cases) {
    const std::string said = refusal(spec);
    EXPECT_NE(said.find(words), std::string::npos) << spec << ": " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  EXPECT_NE(refusal("torus", 7).find("7 nodes do not fill a torus"), std::string::npos);
  EXPECT_NE(refusal("torus", 8).find("do not fill"), std::string::npos);  // 2 x 4
  EXPECT_NE(refusal("hypercube", 6).find("not 6"), std::string::npos);
  EXPECT_NE(refusal("ring:8", 4).find("has 8 nodes, but the cluster has 4"), std::string::npos);
}

TEST(Spec, SeedsDecideAboutRandomGraphs) {
  const auto edges = [](const std::string& spec, std::uint64_t seed) {
    const Graph graph = read_spec(spec, {{}, seed, false}).graph;
    return std::vector<Edge>(graph.edges().begin(), graph.edges().end());
  };
  EXPECT_EQ(edges("regular:20:3@4", 1), edges("regular:20:3@4", 2));
  EXPECT_EQ(edges("regular:20:3", 4), edges("regular:20:3@4", 1));
  EXPECT_NE(edges("regular:20:3", 1), edges("regular:20:3", 2));
  EXPECT_EQ(edges("expander:40", 1), edges("expander:40", 1));
}

}  // namespace
}  // namespace veche
