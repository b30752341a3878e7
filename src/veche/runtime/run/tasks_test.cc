// Runs whose samples are text or rows of a table, from the data set to the trained model.
#include <gtest/gtest.h>

#include "tests/support/data_sets.h"
#include "tests/support/made_up_sets.h"
#include "tests/support/task_learners.h"
#include "tests/support/temporary_folder.h"
#include "veche/config.h"
#include "veche/register.h"
#include "veche/run.h"

namespace veche {
namespace {

using testing::MadeUpTable;
using testing::MadeUpText;
using testing::refusal;

class Tasks : public ::testing::Test {
 protected:
  // Once in a process: names stay registered.
  static void SetUpTestSuite() {
    register_model({.name = "small", .make = testing::make_task_learner});
    register_model({.name = "tabular", .make = testing::make_task_learner, .tasks = {Task::regression}});
    add_set("counting", [] { return std::make_shared<MadeUpText>(MadeUpText::Form{.weighted = true}); });
    add_set("waves", [] { return std::make_shared<MadeUpTable>(60); });
  }
  static void add_set(const std::string& name, const std::function<std::shared_ptr<const Dataset>()>& make) {
    register_dataset({.name = name, .open = [make](const Options&, std::uint64_t) {
                        return OwnDataset::Parts{.train = make(), .test = make()};
                      }});
  }
  static Config config(const std::vector<std::string>& more) {
    Config config;
    for (const char* key : {"model.name=small", "strategy.name=allreduce", "cluster.nodes=2", "run.steps=300",
                            "data.batch=4", "data.augment=none", "optimizer.name=sgd"})
      config.set(key);
    for (const std::string& key : more) config.set(key);
    return config;
  }
  static RunResult train(const std::vector<std::string>& more) {
    return veche::Run(config(more), {.keep = false}).wait();
  }
  static std::string refused(const std::vector<std::string>& more) {
    return refusal([&] { train(more); });
  }
};

// The next token follows from the last one, so the loss falls to nothing. A masked target is none.
TEST_F(Tasks, TextIsLearned) {
  const Score score = train({"data.name=counting", "optimizer.lr=20"}).last.average_model;
  EXPECT_EQ(score.count, 40 * 4);
  EXPECT_EQ(score.accuracy(), 1);
  EXPECT_LT(score.perplexity(), 1.05);
}

// The target is linear in the row: (sin, cos, 1) times (2, -1, 3).
TEST_F(Tasks, ATableIsLearned) {
  const RunResult result = train({"data.name=waves", "optimizer.lr=0.1", "data.shuffle=global"});
  EXPECT_GT(result.last.average_model.r2(), 0.9999);
  EXPECT_LT(result.last.average_model.rmse(), 0.01);
  ASSERT_EQ(result.parameters.front().size(), 3u);
  EXPECT_NEAR(result.parameters.front()[0], 2, 0.01);
  EXPECT_NEAR(result.parameters.front()[1], -1, 0.01);
  EXPECT_NEAR(result.parameters.front()[2], 3, 0.01);
}

// A run that has ended tells the same training errors when it is resumed.
TEST_F(Tasks, CheckpointsKeepTheSumsOfErrors) {
  const testing::TemporaryFolder folder;
  const RunResult first = veche::Run(config({"data.name=waves", "optimizer.lr=0.1", "run.steps=20",
                                             "run.out=" + folder.path().string(), "run.name=waves"}))
                              .wait();
  const auto place = first.info.folder;
  const RunResult again = veche::Run(Config::from_file(place / "config.toml"), {.resume = place}).wait();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(first.last.nodes[i].train.rmse(), 0);
    EXPECT_EQ(again.last.nodes[i].train.rmse(), first.last.nodes[i].train.rmse());
    EXPECT_EQ(again.last.nodes[i].train.mae(), first.last.nodes[i].train.mae());
  }
}

TEST_F(Tasks, TheTargetIsAnyMeasureOfTheTask) {
  const auto stopped = [](const std::vector<std::string>& more) { return train(more).last; };
  const Evaluation text =
      stopped({"data.name=counting", "optimizer.lr=20", "run.target=perplexity < 1.5", "run.eval_every=10"});
  EXPECT_EQ(text.stopped, StopReason::target);
  EXPECT_LT(text.average_model.perplexity(), 1.5);
  EXPECT_EQ(text.step % 10, 0u);
  const Evaluation table =
      stopped({"data.name=waves", "optimizer.lr=0.1", "run.target=0.5", "run.eval_every=10"});
  EXPECT_EQ(table.stopped, StopReason::target);
  EXPECT_LE(table.average_model.rmse(), 0.5);
  EXPECT_EQ(
      refused({"data.name=waves", "run.target_accuracy=0.5"}),
      "run.target_accuracy: there is no accuracy where the targets are numbers; choose run.target, such as "
      "\"rmse <= 0.5\"");
}

TEST_F(Tasks, ModelsOfOtherTasksAreRefused) {
  EXPECT_EQ(refused({"data.name=counting", "model.name=tabular"})
                .find("model.name: 'tabular' cannot learn 'counting', whose targets are tokens of a text"),
            0u);
  EXPECT_NE(refused({"data.name=counting", "model.name=smal"}).find("did you mean 'small'?"),
            std::string::npos);
  EXPECT_EQ(refused({"data.name=waves", "model.name=cnn"})
                .find("model.name: 'cnn' cannot learn 'waves', whose targets are numbers"),
            0u);
  EXPECT_EQ(
      refused({"data.name=waves", "model.name=mlps", "model.classes=3"}).find("model.name: there is no"), 0u);
}

TEST_F(Tasks, KeysOfOtherTasksAreRefused) {
  EXPECT_EQ(refused({"data.name=waves", "model.name=mlp", "model.classes=3"}),
            "model.classes = 3 counts classes, and the targets of waves are numbers: leave the key out");
  EXPECT_EQ(refused({"data.name=counting", "data.augment=flip"}),
            "data.augment = \"flip\" changes images, and counting is not a set of images; choose none");
  EXPECT_EQ(
      refused({"data.name=waves", "data.partition=dirichlet:0.5"}),
      "data.partition = \"dirichlet:0.5\" divides classes, and the targets are none: choose iid, contiguous, "
      "proportional, sizes:[..] or folders");
}

}  // namespace
}  // namespace veche
