#include "web/watch/follower.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

TEST_F(Following, LostAndJoinedNodesAreTold) {
  RunFollower run(folder_);
  append("metrics.jsonl", measured(10, {10, 10, 10}) + measured(20, {20, 10, 20, 5}));
  run.poll();
  const auto last = run.nodes(10)["last"];
  ASSERT_EQ(last.size(), 4U);
  EXPECT_FALSE(last[0]["lost"].get<bool>());
  EXPECT_TRUE(last[1]["lost"].get<bool>());  // made no step while others did
  EXPECT_TRUE(last[3]["joined"].get<bool>());
  append("metrics.jsonl", measured(30, {30, 20}));
  run.poll();
  const auto later = run.nodes(10)["last"];
  EXPECT_FALSE(later[1]["lost"].get<bool>());  // it is back
  EXPECT_TRUE(later[2]["lost"].get<bool>());   // no longer present
  // At the end no node makes steps; that does not make them lost.
  append("metrics.jsonl", measured(30, {30, 20}));
  run.poll();
  EXPECT_FALSE(run.nodes(10)["last"][0]["lost"].get<bool>());
}

TEST_F(Following, WhereNodesAreNow) {
  RunFollower run(folder_);
  EXPECT_TRUE(run.now()["nodes"].empty());  // as in runs of earlier versions
  append(
      "nodes.json",
      R"({"step":12,"nodes":[{"steps":12,"compute_seconds":3,"waiting_seconds":1,"communication_seconds":2,)"
      R"("bytes_sent":400,"staleness":0.5,"to":[[1,300],[2,100],["x",1],[-1,5]]},{}]})");
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
  const auto about = RunFollower(folder_).about();
  EXPECT_EQ(about["graph"]["nodes"], 3);
  EXPECT_EQ(about["graph"]["edges"].size(), 3U);
  EXPECT_NEAR(about["graph"]["edges"][0][2].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_EQ(graph_of_config("[strategy]\nname = \"unheard\"\n")["edges"].size(), 0U);
  EXPECT_THROW(RunFollower("/nonexistent"), RequestError);
}

}  // namespace
}  // namespace veche::web
