#include "veche/runtime/record/recorder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

class Listener : public RunObserver {
 public:
  void on_progress(const Progress& /*progress*/) override { ++progress; }
  void on_evaluation(const Evaluation& /*evaluation*/) override { ++evaluations; }
  void on_notice(const std::string& sentence) override { notices.push_back(sentence); }

  int progress = 0, evaluations = 0;
  std::vector<std::string> notices;
};

class Recording : public ::testing::Test {
 protected:
  Recording() {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &unlimited_);
    folder_.write("config.toml", std::string("[run]\n"));
  }
  ~Recording() override { room_again(); }

  // No file grows beyond that: as good as a full disk.
  void fill_disk(rlim_t bytes) const {
    const rlimit limit{bytes, unlimited_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  void room_again() const { ::setrlimit(RLIMIT_FSIZE, &unlimited_); }

  RunFolder run() const { return RunFolder::open(folder_.path()); }
  std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> found;
    std::ifstream in(run().metrics());
    for (std::string line; std::getline(in, line);)
      found.push_back(nlohmann::json::parse(line).at("step").get<std::uint64_t>());
    return found;
  }
  static Evaluation evaluation(std::uint64_t step) {
    Evaluation result;
    result.step = step;
    result.nodes.resize(2);
    return result;
  }

  const ::veche::testing::TemporaryFolder folder_;
  Listener listener_;
  rlimit unlimited_{};
};

TEST_F(Recording, EpochsGoOnWhereMembersComeAndGo) {
  RunInfo info;
  info.steps_per_epoch = 100;
  Recorder recorder(run(), info, &listener_);
  recorder.on_evaluation(evaluation(50));
  info.epochs_before = info.epoch(50);
  info.epochs_at = 50;
  info.steps_per_epoch = 25;  // four times as many nodes
  recorder.on_view(info, {});
  recorder.on_evaluation(evaluation(75));
  recorder.finish();
  std::vector<double> epochs;
  std::ifstream in(run().metrics());
  for (std::string line; std::getline(in, line);)
    epochs.push_back(nlohmann::json::parse(line).at("epoch").get<double>());
  EXPECT_EQ(epochs, (std::vector<double>{0.5, 1.5}));
}

TEST_F(Recording, GoesOnWhileTheDiskIsFullAndLosesNothing) {
  Recorder recorder(run(), {}, &listener_);
  recorder.on_evaluation(evaluation(1));
  fill_disk(fs::file_size(run().metrics()) + 100);
  for (const std::uint64_t step : {2, 3, 4}) recorder.on_evaluation(evaluation(step));
  recorder.on_progress({});
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1})) << "no half line";
  EXPECT_EQ(listener_.evaluations, 4);
  ASSERT_EQ(listener_.notices.size(), 1U) << "said once";
  EXPECT_TRUE(
      listener_.notices[0].starts_with(run().metrics().string() + " cannot be written: File too large"))
      << listener_.notices[0];
  room_again();
  recorder.on_progress({});
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(listener_.notices.size(), 2U);
  EXPECT_NO_THROW(recorder.finish());
  EXPECT_EQ(listener_.progress, 2);
}

TEST_F(Recording, TellsWhereEveryNodeIs) {
  Recorder recorder(run(), {}, &listener_);
  std::vector<ProgressReport> nodes(2);
  nodes[1].going = {
      .steps = 7, .bytes = 1e10, .computing = 2, .waiting = 0.5F, .communicating = 1, .staleness = 1.5F};
  nodes[1].going.to[0] = {0, 3e9F};
  recorder.on_nodes(6, nodes);
  std::ifstream in(run().nodes());
  const auto told = nlohmann::json::parse(in);
  EXPECT_EQ(told.at("step"), 6);
  ASSERT_EQ(told.at("nodes").size(), 2U);
  EXPECT_EQ(told["nodes"][0].at("to").size(), 0U);
  EXPECT_EQ(told["nodes"][1].at("steps"), 7);
  EXPECT_EQ(told["nodes"][1].at("bytes_sent"), 1e10);
  EXPECT_EQ(told["nodes"][1].at("staleness"), 1.5);
  EXPECT_EQ(told["nodes"][1].at("to")[0][1], 3e9);
}

TEST_F(Recording, NamesTheMembersOfAGrid) {
  Recorder recorder(run(), {}, &listener_);
  recorder.on_view({}, {{"1a2b3c4d", "oak"}, {"5e6f7a8b", "a \"b\""}});
  recorder.on_evaluation(evaluation(1));
  recorder.on_nodes(1, std::vector<ProgressReport>(2));
  recorder.on_nodes(2, std::vector<ProgressReport>(3));  // of another view: at most twice a second
  std::ifstream metrics(run().metrics()), now(run().nodes());
  for (const auto& told : {nlohmann::json::parse(metrics), nlohmann::json::parse(now)}) {
    ASSERT_EQ(told.at("nodes").size(), 2U);
    EXPECT_EQ(told["nodes"][0].at("member"), "1a2b3c4d");
    EXPECT_EQ(told["nodes"][0].at("name"), "oak");
    EXPECT_EQ(told["nodes"][1].at("name"), "a \"b\"");
  }
  recorder.on_view({}, {{"1a2b3c4d", "oak"}});
  recorder.on_evaluation(evaluation(2));  // of the view before
  std::string line;
  std::ifstream again(run().metrics());
  std::getline(again, line);
  EXPECT_FALSE(nlohmann::json::parse(again).at("nodes")[0].contains("member"));
}

TEST_F(Recording, AFullDiskKeepsWhereTheNodesWere) {
  Recorder recorder(run(), {}, &listener_);
  fill_disk(10);
  recorder.on_nodes(1, std::vector<ProgressReport>(2));
  EXPECT_FALSE(fs::exists(run().nodes())) << "no half file";
  EXPECT_FALSE(fs::exists(run().nodes().string() + ".new"));
  EXPECT_TRUE(listener_.notices.empty());
}

TEST_F(Recording, SaysInTheEndWhatIsLost) {
  {
    Recorder recorder(run(), {}, &listener_);
    fill_disk(100);
    for (const std::uint64_t step : {1, 2, 3}) recorder.on_evaluation(evaluation(step));
    try {
      recorder.finish();
      FAIL() << "nothing was said";
    } catch (const RunError& error) {
      EXPECT_TRUE(std::string(error.what())
                      .starts_with(run().metrics().string() +
                                   " cannot be written: File too large, so it lacks 3 measurements"))
          << error.what();
    }
  }
  EXPECT_EQ(listener_.notices.size(), 1U) << "not again";
}

TEST_F(Recording, SaysWhatIsLostWhenTheRunFails) {
  {
    Recorder recorder(run(), {}, &listener_);
    fill_disk(100);
    recorder.on_evaluation(evaluation(1));
  }
  ASSERT_EQ(listener_.notices.size(), 2U);
  EXPECT_NE(listener_.notices[1].find("lacks 1 measurement"), std::string::npos) << listener_.notices[1];
}

TEST_F(Recording, ForgetsWhatCameAfterTheCheckpointAndHalfLines) {
  folder_.write("metrics.jsonl", std::string("{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"st"));
  RunInfo resumed;
  resumed.first_step = 2;
  Recorder recorder(run(), resumed, &listener_);
  recorder.on_evaluation(evaluation(3));
  recorder.finish();
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(Recording, DoesNotWriteOverTheEventsOfAnother) {
  for (int i = 0; i < 3; ++i) Recorder(run(), {}, nullptr).finish();
  std::size_t events = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    events += entry.path().filename().string().starts_with("events.") ? 1 : 0;
  EXPECT_EQ(events, 3U);
}

}  // namespace
}  // namespace veche
