#include "web/watch/follower.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "veche/errors.h"

namespace veche::web {
namespace {

namespace fs = std::filesystem;

class Following : public testing::Test {
 protected:
  Following() : folder_(fs::path(testing::TempDir()) / ("veche-follower-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "config.toml")
        << "[cluster]\nnodes = 3\n\n[topology]\ngraph = \"ring\"\n\n[strategy]\nname = \"consensus\"\n";
  }
  ~Following() override { fs::remove_all(folder_); }

  void append(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ / file, std::ios::app) << text;
  }
  static std::string measured(int step, const std::vector<int>& steps) {
    std::string nodes;
    for (const int made : steps)
      nodes += std::string(nodes.empty() ? "" : ",") + R"({"test":{"accuracy":0.5},"l2":2,"steps":)" +
               std::to_string(made) + R"(,"bytes_sent":10})";
    return R"({"step":)" + std::to_string(step) + R"(,"seconds":1,"cv":0.1,"nodes":[)" + nodes + "]}\n";
  }

  const fs::path folder_;
};

TEST_F(Following, ReadsWhatIsNewAndWaitsForTheEndOfALine) {
  RunFollower run(folder_);
  EXPECT_FALSE(run.poll());
  const std::string line = measured(5, {5, 5, 5});
  append("metrics.jsonl", line.substr(0, 20));
  run.poll();
  EXPECT_TRUE(run.series(10)["measurements"]["step"].empty());
  append("metrics.jsonl", line.substr(20));
  EXPECT_TRUE(run.poll());
  const auto series = run.series(10);
  EXPECT_EQ(series["measurements"]["step"], nlohmann::json::parse("[5]"));
  EXPECT_EQ(series["measurements"]["bytes"], nlohmann::json::parse("[30]"));
  EXPECT_EQ(series["measurements"]["accuracy_mean"], nlohmann::json::parse("[0.5]"));
  EXPECT_EQ(series["measurements"]["accuracy"], nlohmann::json::parse("[null]"));
  EXPECT_FALSE(run.poll());
  EXPECT_FALSE(run.ended());
  append("summary.json", "{}");
  EXPECT_TRUE(run.poll());
  EXPECT_TRUE(run.ended());
}

TEST_F(Following, ShowsTheLastTextOfALanguageModel) {
  RunFollower run(folder_);
  EXPECT_TRUE(run.series(10)["sample"].is_null());
  append("samples.jsonl", R"({"step":5,"text":"xq"})"
                          "\n"
                          R"({"step":9,"text":"to be"})"
                          "\n"
                          R"({"step":12,"te)");
  EXPECT_TRUE(run.poll());
  EXPECT_EQ(run.series(10)["sample"], nlohmann::json::parse(R"({"step":9,"text":"to be"})"));
  append("samples.jsonl", "xt\":7}\n");  // no text
  EXPECT_FALSE(run.poll());
}

TEST_F(Following, AResumedRunGoesBack) {
  RunFollower run(folder_);
  for (const int step : {1, 2, 3, 4, 3, 4, 5})
    append("progress.jsonl", R"({"step":)" + std::to_string(step) +
                                 R"(,"loss":1,"cv":null,"images_per_second":7})"
                                 "\n");
  append("progress.jsonl",
         "{\"step\":9,\"los"
         "\n");  // damaged
  run.poll();
  const auto series = run.series(100);
  EXPECT_EQ(series["progress"]["step"], nlohmann::json::parse("[1,2,3,4,5]"));
  EXPECT_EQ(series["progress"]["cv"][0], nullptr);
  append("metrics.jsonl", measured(1, {1}) + measured(2, {2}));
  run.poll();
  std::ofstream(folder_ / "metrics.jsonl") << measured(1, {1});  // as a resumed run rewrites it
  run.poll();
  EXPECT_EQ(run.series(100)["measurements"]["step"], nlohmann::json::parse("[1]"));
}

// [[kind, place or number of nodes], ..] without the best model.
nlohmann::json told(const RunFollower& run) {
  nlohmann::json told = nlohmann::json::array();
  const auto series = run.series(10);
  for (const auto& mark : series["marks"])
    if (mark["kind"] != "best") told.push_back({mark["kind"], mark.value("node", mark.value("nodes", 0.0))});
  return told;
}

TEST_F(Following, LostAndJoinedNodesAreTold) {
  RunFollower run(folder_);
  append("metrics.jsonl", measured(10, {10, 10, 10}) + measured(20, {20, 10, 20, 5}));
  run.poll();
  // Node 1 made no step while others did.
  EXPECT_EQ(told(run), nlohmann::json::parse(R"([["view",4],["lost",1],["joined",3]])"));
  append("metrics.jsonl", measured(30, {30, 20}));
  run.poll();
  EXPECT_EQ(told(run),
            nlohmann::json::parse(
                R"([["view",4],["lost",1],["joined",3],["view",2],["back",1],["lost",2],["lost",3]])"));
  // At the end no node makes steps; that does not make them lost.
  append("metrics.jsonl", measured(30, {30, 20}));
  run.poll();
  EXPECT_EQ(told(run).size(), 7U);
}

// A grid whose member b is lost, and comes back after d has joined: the others close up in each view,
// and every one keeps its place.
TEST_F(Following, AMemberKeepsItsPlace) {
  const auto line = [](int step, const std::vector<std::pair<std::string, int>>& sent) {
    std::string nodes;
    for (const auto& [id, bytes] : sent)
      nodes += std::string(nodes.empty() ? "" : ",") + R"({"member":")" + id + R"(","name":"n)" + id +
               R"(","l2":)" + std::to_string(bytes % 10) + R"(,"steps":)" + std::to_string(step) +
               R"(,"bytes_sent":)" + std::to_string(bytes) + "}";
    return R"({"step":)" + std::to_string(step) + R"(,"seconds":1,"nodes":[)" + nodes + "]}\n";
  };
  RunFollower run(folder_);
  append("metrics.jsonl", line(1, {{"a", 11}, {"b", 92}, {"c", 13}}));
  append("metrics.jsonl", line(2, {{"a", 21}, {"c", 23}}));
  append("metrics.jsonl", line(3, {{"a", 31}, {"c", 33}, {"d", 14}}));
  append("metrics.jsonl", line(4, {{"a", 41}, {"c", 43}, {"d", 24}, {"b", 12}}));  // b counts anew
  append("nodes.json",
         R"({"step":4,"nodes":[{"member":"a","name":"na","steps":4,"bytes_sent":41,"to":[[3,41]]},)"
         R"({"member":"c","name":"nc","steps":4},{"member":"d","name":"nd","steps":4},)"
         R"({"member":"b","name":"nb","steps":4,"bytes_sent":12,"to":[[0,12],[9,1]]}]})");
  run.poll();
  EXPECT_EQ(told(run), nlohmann::json::parse(
                           R"([["view",2],["lost",1],["view",3],["joined",3],["view",4],["back",1]])"));
  EXPECT_EQ(run.nodes(10)["count"], 4);
  EXPECT_EQ(run.graph()["names"], nlohmann::json::parse(R"(["na","nb","nc","nd"])"));
  const auto views = run.graph()["views"];
  ASSERT_EQ(views.size(), 4U);
  EXPECT_EQ(views[1]["seats"], nlohmann::json::parse("[0,2]"));
  EXPECT_EQ(views[3]["seats"], nlohmann::json::parse("[0,2,3,1]"));
  // A ring of the four as they sit, between their places.
  std::set<std::pair<int, int>> edges;
  for (const auto& edge : views[3]["edges"])
    edges.insert(std::minmax(edge[0].get<int>(), edge[1].get<int>()));
  EXPECT_EQ(edges, (std::set<std::pair<int, int>>{{0, 2}, {2, 3}, {1, 3}, {0, 1}}));
  // What each sent since, the lost member's included: 116, 116 + 10 + 10, + 10 + 10 + 14, + 10 + 10 + 10
  // + 12.
  EXPECT_EQ(run.series(10)["measurements"]["bytes"], nlohmann::json::parse("[116,136,170,212]"));
  EXPECT_EQ(run.series(10)["measurements"]["present"], nlohmann::json::parse("[3,2,3,4]"));
  const std::string column = run.column_of_nodes("distance", 10);
  std::vector<float> rows(column.size() / sizeof(float));
  std::memcpy(rows.data(), column.data(), column.size());
  ASSERT_EQ(rows.size(), 16U);
  EXPECT_EQ(rows[4], 2);  // b, and then it is gone for two measurements
  EXPECT_TRUE(std::isnan(rows[5]) && std::isnan(rows[6]));
  EXPECT_EQ(rows[9], 3);                                      // c, whose number changed
  EXPECT_TRUE(std::isnan(rows[12]) && std::isnan(rows[13]));  // d, before it joined
  EXPECT_EQ(run.now()["nodes"][0]["to"], nlohmann::json::parse("[[1,41]]"));
  EXPECT_EQ(run.now()["nodes"][1]["to"], nlohmann::json::parse("[[0,12]]"));
}

TEST_F(Following, MembersOfOneNameAndOfSeveralNodesAreToldApart) {
  RunFollower run(folder_);
  append("metrics.jsonl",
         R"({"step":1,"nodes":[{"member":"1a2b3c4d","name":"x"},{"member":"1a2b3c4d","name":"x"},)"
         R"({"member":"99999999","name":"x"},{"member":"77777777","name":""}]})"
         "\n");
  run.poll();
  EXPECT_EQ(run.graph()["names"], nlohmann::json::parse(R"(["x-1a2b 0","x-1a2b 1","x-9999","77777777"])"));
}

// Of a single member there is no ring: no edge, no error, and the family is known.
TEST_F(Following, AGridBeginsWithOneMember) {
  std::ofstream(folder_ / "config.toml")
      << "[cluster]\nnodes = 1\n\n[topology]\ngraph = \"ring\"\n\n[strategy]\nname = \"consensus\"\n";
  RunFollower run(folder_);
  EXPECT_EQ(run.graph()["family"], "ring");
  EXPECT_EQ(run.graph()["views"][0]["edges"].size(), 0U);
  append("metrics.jsonl", measured(1, {1, 1, 1, 1}));
  run.poll();
  EXPECT_EQ(run.graph()["views"][0]["edges"].size(), 4U);
}

TEST_F(Following, WhereNodesAreNow) {
  RunFollower run(folder_);
  EXPECT_TRUE(run.now()["nodes"].empty());  // as in runs of earlier versions
  append(
      "nodes.json",
      R"({"step":12,"nodes":[{"steps":12,"compute_seconds":3,"waiting_seconds":1,"communication_seconds":2,)"
      R"("bytes_sent":400,"staleness":0.5,"to":[[1,300],[2,100],["x",1],[-1,5]]},{},{}]})");
  EXPECT_TRUE(run.poll());
  EXPECT_EQ(run.now()["step"], 12);
  EXPECT_EQ(run.now()["nodes"][0]["computing"], 3);
  EXPECT_EQ(run.now()["nodes"][0]["to"], nlohmann::json::parse("[[1,300],[2,100]]"));
  EXPECT_EQ(run.now()["nodes"][1]["bytes"], nullptr);
  EXPECT_FALSE(run.poll());
  const auto before = run.now();
  fs::remove(folder_ / "nodes.json");
  append("nodes.json", R"({"step":"?)");  // damaged: what was known stays
  run.poll();
  EXPECT_EQ(run.now(), before);
}

TEST_F(Following, LongRunsAreThinned) {
  RunFollower run(folder_);
  std::string text;
  for (int step = 1; step <= 10'000; ++step)
    text += R"({"step":)" + std::to_string(step) +
            R"(,"loss":1,"cv":1,"images_per_second":7})"
            "\n";
  append("progress.jsonl", text);
  run.poll();
  const auto steps = run.series(600)["progress"]["step"];
  EXPECT_EQ(steps.size(), 600U);
  EXPECT_EQ(steps.back(), 10'000);
}

TEST_F(Following, ALongPastIsReadInPieces) {
  RunFollower run(folder_);
  std::string text;
  int steps = 0;
  while (text.size() < (20U << 20U)) text += measured(++steps, std::vector<int>(36, 1));
  append("metrics.jsonl", text);
  int pieces = 0;
  do {
    run.poll();
    ++pieces;
  } while (run.behind() && pieces < 100);
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(run.series(10)["measurements"]["step"].back(), steps);
}

TEST_F(Following, KnowsTheGraph) {
  const auto graph = RunFollower(folder_).graph();
  ASSERT_EQ(graph["views"].size(), 1U);
  const auto view = graph["views"][0];
  EXPECT_EQ(view["seats"].size(), 3U);
  EXPECT_EQ(view["edges"].size(), 3U);
  EXPECT_NEAR(view["edges"][0][2].get<double>(), 1.0 / 3, 1e-6);
  EXPECT_EQ(edges_of_config("[strategy]\nname = \"unheard\"\n", 3).count, 0U);
  EXPECT_THROW(RunFollower("/nonexistent"), RequestError);
}

// The way of two sites is as narrow as its narrowest link and as late as all of them.
TEST(EdgesOfANetwork, HaveTheWidthAndTheLatenciesOfTheWay) {
  const std::string config =
      "[cluster]\nnodes = 3\ntransport = \"simulated\"\n[topology]\ngraph = \"ring\"\n"
      "[network]\nsites = [{nodes = 2, bandwidth = \"1Gbps\", latency = \"1ms\", uplink = \"80Mbps\", "
      "uplink_latency = \"10ms\"}, {nodes = 1, bandwidth = \"40Mbps\", latency = \"2ms\"}]\n";
  for (const auto& edge : edges_of_config(config, 3).drawn) {
    ASSERT_EQ(edge.size(), 5U) << edge;
    const bool inside = edge[0] != 2 && edge[1] != 2;
    EXPECT_NEAR(edge[3].get<double>(), inside ? 125e6 : 5e6, 1) << edge;
    EXPECT_NEAR(edge[4].get<double>(), inside ? 0.002 : 0.013, 1e-9) << edge;
  }
  EXPECT_EQ(edges_of_config("[cluster]\nnodes = 3\n[topology]\ngraph = \"ring\"\n", 3).drawn[0].size(), 3U);
}

}  // namespace
}  // namespace veche::web
