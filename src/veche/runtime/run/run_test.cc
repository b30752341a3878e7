#include "veche/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

#include "tests/support/temporary_folder.h"
#include "veche/base/files/read_text.h"
#include "veche/errors.h"
#include "veche/runtime/run/comparison.h"

namespace veche {
namespace {

using Assignments = std::vector<std::string>;

// Two quadratics with their minimum at 2; `more` on top.
Config quadratics(const Assignments& more = {}) {
  Config config;
  for (const char* key :
       {"model.name=quadratic", "model.a=[1, 1]", "model.b=[1, 3]", "run.steps=2000", "run.eval_every=500",
        "optimizer.name=sgd", "optimizer.lr=0.02", "optimizer.schedule=cosine", "strategy.name=allreduce"})
    config.set(key);
  for (const std::string& key : more) config.set(key);
  return config;
}

// So long that only a stop ends it.
Config endless() { return quadratics({"run.steps=1000000000", "run.eval_every=1000"}); }

RunOptions leave_nothing() { return {.keep = false}; }

TEST(Run, ReportsAndGivesItsResult) {
  std::vector<std::uint64_t> evaluated;
  std::uint64_t told = 0;
  RunOptions options = leave_nothing();
  options.on_start = [&](const RunInfo& info) { told = info.steps; };
  options.on_evaluation = [&](const Evaluation& evaluation) { evaluated.push_back(evaluation.step); };
  veche::Run run(quadratics(), options);
  EXPECT_FALSE(run.done());
  run.start();
  const RunResult result = run.wait();
  EXPECT_TRUE(run.done());
  EXPECT_EQ(told, 2000U);
  EXPECT_EQ(evaluated, (std::vector<std::uint64_t>{500, 1000, 1500, 2000}));
  EXPECT_EQ(result.last.stopped, StopReason::steps);
  EXPECT_EQ(result.info.rank, 0);
  ASSERT_EQ(result.parameters.size(), 2U);
  for (const auto& x : result.parameters) EXPECT_NEAR(x.front(), 2, 1e-4);
}

TEST(Run, StopsFromACallback) {
  RunOptions options = leave_nothing();
  veche::Run* running = nullptr;
  int progress = 0;
  options.on_progress = [&](const Progress&) {
    ++progress;
    running->stop();
  };
  veche::Run run(endless(), options);
  running = &run;
  EXPECT_EQ(run.wait().last.stopped, StopReason::interrupted);
  EXPECT_GE(progress, 1);
}

TEST(Run, StopsBeforeItStarts) {
  veche::Run run(endless(), leave_nothing());
  run.stop();
  EXPECT_EQ(run.wait().last.stopped, StopReason::interrupted);
}

TEST(Run, EndsWithItsObject) {
  std::binary_semaphore evaluated(0);
  RunOptions options = leave_nothing();
  options.on_evaluation = [&](const Evaluation&) { evaluated.release(); };
  {
    veche::Run run(endless(), options);
    run.start();
    evaluated.acquire();
  }
  { const veche::Run never_started(endless(), leave_nothing()); }
}

TEST(Run, EndsWithWhatACallbackThrows) {
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto throws = [](const auto&) { throw Own("enough"); };
  std::vector<RunOptions> all(3, leave_nothing());
  all[0].on_start = throws;
  all[1].on_progress = throws;
  all[2].on_evaluation = throws;
  for (const RunOptions& options : all) {
    veche::Run run(endless(), options);
    EXPECT_THROW(run.wait(), Own);
    EXPECT_TRUE(run.done());
  }
  all[2].on_evaluation = [](const Evaluation&) { throw 7; };
  veche::Run run(endless(), all[2]);
  EXPECT_THROW(run.wait(), int);
}

TEST(Run, IsStartedAndWaitedForOnce) {
  veche::Run run(quadratics(), leave_nothing());
  run.start();
  EXPECT_THROW(run.start(), std::logic_error);
  run.wait();
  EXPECT_THROW(run.wait(), std::logic_error);
  EXPECT_THROW(run.start(), std::logic_error);
  EXPECT_TRUE(run.done());
  run.stop();
}

TEST(Run, Moves) {
  std::atomic<int> evaluations = 0;
  RunOptions options = leave_nothing();
  options.on_evaluation = [&](const Evaluation&) { ++evaluations; };
  veche::Run first(quadratics(), options);
  first.start();
  veche::Run second = std::move(first);
  EXPECT_EQ(second.wait().last.stopped, StopReason::steps);
  EXPECT_EQ(evaluations, 4);
  // NOLINTBEGIN(bugprone-use-after-move): what is promised of it
  EXPECT_THROW(first.wait(), std::logic_error);
  EXPECT_THROW(first.stop(), std::logic_error);
  // NOLINTEND(bugprone-use-after-move)
  veche::Run third(endless(), leave_nothing());
  third.start();
  third = std::move(second);  // stops and waits for its previous run
  EXPECT_TRUE(third.done());
  veche::Run& same = third;
  third = std::move(same);
  EXPECT_TRUE(third.done());
}

TEST(Run, RefusesAWrongRequestAtOnce) {
  const Config wrong = quadratics({"optimizer.momentm=0.9"});
  try {
    const veche::Run run(wrong, leave_nothing());
    FAIL() << "nothing was refused";
  } catch (const RequestError& error) {
    EXPECT_STREQ(error.what(), "there is no key optimizer.momentm; did you mean 'optimizer.momentum'?");
  }
}

TEST(Run, OneAfterTheOtherAndTwoAtATime) {
  const auto x = [](veche::Run& run) { return run.wait().parameters; };
  veche::Run alone(quadratics(), leave_nothing());
  const auto expected = x(alone);
  veche::Run left(quadratics(), leave_nothing()), right(quadratics(), leave_nothing());
  left.start();
  right.start();
  EXPECT_EQ(x(right), expected);
  EXPECT_EQ(x(left), expected);
}

TEST(Run, KeepsAndGoesOn) {
  const testing::TemporaryFolder folder;
  const std::string out = "run.out=" + (folder.path() / "runs").string();
  RunOptions options;
  veche::Run* running = nullptr;
  options.on_evaluation = [&](const Evaluation& evaluation) {
    if (evaluation.step == 5000) running->stop();
  };
  const Config config = quadratics({out, "run.name=mine", "run.steps=20000", "run.eval_every=5000"});
  veche::Run first(config, options);
  running = &first;
  const RunResult stopped = first.wait();
  EXPECT_EQ(stopped.last.stopped, StopReason::interrupted);
  EXPECT_FALSE(std::filesystem::exists(stopped.info.folder / "summary.json"));

  veche::Run second(Config::from_file(stopped.info.folder / "config.toml"), {.resume = stopped.info.folder});
  const RunResult ended = second.wait();
  EXPECT_GE(ended.info.first_step, 5000U);
  EXPECT_EQ(ended.last.stopped, StopReason::steps);
  veche::Run whole(config, leave_nothing());
  EXPECT_EQ(ended.parameters, whole.wait().parameters);
}

// Compares two rates, with two seeds each. Each run ends for the reason `stopped`, and its loss is
// its seed.
ComparisonResult compare_rates(const ComparisonPlan& plan, const char* stopped,
                               std::vector<std::string>& made) {
  return run_comparison(plan, 2, nullptr, [&](const ComparedRun& one) -> nlohmann::ordered_json {
    made.push_back(one.variant.name + " " + std::to_string(one.seed));
    EXPECT_FALSE(one.needs_process);
    EXPECT_EQ(one.settings.run.seed, one.seed);
    EXPECT_EQ(one.settings.run.out, plan.folder().string());
    return {{"run", "somewhere"}, {"stopped", stopped},     {"nodes", 2},
            {"steps", 10},        {"seconds", 1.0},         {"train_loss", one.seed * 1.0},
            {"bytes_sent", 0},    {"samples_per_second", 1}};
  });
}

TEST(Comparison, RunsEachVariantWithEachSeed) {
  const testing::TemporaryFolder folder;
  const ComparisonPlan plan(quadratics({"run.out=" + folder.path().string(), "run.seed=5"}),
                            {"optimizer.lr=0.01,0.02"}, nullptr);
  std::filesystem::create_directories(plan.folder());
  std::vector<std::string> made;
  const ComparisonResult stopped = compare_rates(plan, "interrupted", made);
  EXPECT_EQ(made, (std::vector<std::string>{"0.01 5"}));
  EXPECT_EQ(stopped.interrupted, "somewhere");
  EXPECT_FALSE(std::filesystem::exists(plan.folder() / "compare.json"));

  made.clear();
  const ComparisonResult whole = compare_rates(plan, "steps", made);
  EXPECT_EQ(made, (std::vector<std::string>{"0.01 5", "0.01 6", "0.02 5", "0.02 6"}));
  EXPECT_FALSE(whole.interrupted);
  const auto kept = nlohmann::ordered_json::parse(read_text(plan.folder() / "compare.json", "it", 1 << 20));
  EXPECT_EQ(kept, whole.content);
  EXPECT_EQ(kept.at("runs").size(), 4U);
  EXPECT_EQ(kept.at("comparison").at(1).at("variant"), "0.02");
  EXPECT_EQ(kept.at("comparison").at(1).at("train_loss"), 5.5);
}

TEST(Comparison, OfVirtualTimeNeedsProcesses) {
  const ComparisonPlan plan(quadratics({"cluster.transport=simulated"}), {"optimizer.lr=0.01,0.02"}, nullptr);
  const ComparisonResult result =
      run_comparison(plan, 1, nullptr, [&](const ComparedRun& one) -> nlohmann::ordered_json {
        EXPECT_TRUE(one.needs_process);
        return {{"run", ""}, {"stopped", "interrupted"}};
      });
  EXPECT_TRUE(result.interrupted);
}

}  // namespace
}  // namespace veche
