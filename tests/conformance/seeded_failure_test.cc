// Faults in every strategy, in many orders, with functions, texts and tables in turn: a run is stopped, saved
// and resumed; a node, an observer or the disk fails. The cause is reported, and no node waits for ever.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/seeded.h"
#include "tests/support/temporary_folder.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;

// Steps long enough for progress reports.
SeededOptions slow_steps(std::uint64_t seed) {
  SeededOptions options = testing::in_order_of(seed);
  options.pass = Time(0.05);
  return options;
}

class Watcher : public RunObserver {
 public:
  void on_start(const RunInfo& info) override {
    if (started) started(info);
  }
  void on_progress(const Progress& /*progress*/) override {
    ++progress;
    if (progressed) progressed();
  }
  void on_evaluation(const Evaluation& evaluation) override {
    ++evaluations;
    last = evaluation;
    if (evaluated) evaluated();
  }

  std::function<void(const RunInfo&)> started;
  std::function<void()> progressed, evaluated;
  int progress = 0;
  int evaluations = 0;
  Evaluation last;
};

class SeededRun : public ::testing::TestWithParam<Assignments> {
 protected:
  static std::uint64_t seeds() { return testing::seeds() / 20; }
  static std::uint64_t seeds_on_disk() { return testing::seeds() / 40; }  // tests that sync files
  bool has(const std::string& assignment) const {
    return std::ranges::find(GetParam(), assignment) != GetParam().end();
  }
  bool in_step() const {
    const auto all = testing::seeded_in_step_variants();
    return std::ranges::find(all, GetParam()) != all.end();
  }

  TrainingRequest request(std::uint64_t seed, int steps, const Assignments& more = {}) {
    const Config config = testing::seeded_problem(joined(GetParam(), more), testing::nodes_for(seed), steps,
                                                  testing::problem_for(seed));
    return testing::seeded_request(config.resolve(), slow_steps(seed));
  }

  // The message it ends with.
  std::string failure(const TrainingRequest& request) {
    try {
      run_training(request);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "it did not fail";
  }
};

TEST_P(SeededRun, EndsWhenSomebodyWantsItTo) {
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TrainingRequest request = this->request(seed, 1'000'000);
    Watcher watcher;
    std::atomic<bool> interrupted = seed % 4 == 0;
    watcher.progressed = [&] { interrupted = watcher.progress >= static_cast<int>(seed % 3); };
    request.observer = &watcher;
    request.interrupted = &interrupted;
    EXPECT_EQ(run_training(request).last.stopped, StopReason::interrupted);
  }
}

TEST_P(SeededRun, GoesOnFromACheckpoint) {
  const testing::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < seeds_on_disk(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Assignments kept = {"run.checkpoint_every=20", "run.out=" + folder.path().string(),
                              "run.name=run-" + std::to_string(seed)};
    TrainingRequest request = this->request(seed, 60, kept);
    Watcher watcher;
    std::atomic<bool> interrupted = false;
    watcher.progressed = [&] { interrupted = true; };
    request.keep = true;
    request.observer = &watcher;
    request.interrupted = &interrupted;
    EXPECT_EQ(run_training(request).last.stopped, StopReason::interrupted);
    TrainingRequest rest = this->request(seed, 60, kept);
    rest.cluster = [&](int nodes) { return std::make_unique<SeededCluster>(nodes, slow_steps(seed + 1000)); };
    rest.keep = true;
    rest.resume = folder.path() / ("run-" + std::to_string(seed));
    const RunResult result = run_training(rest);
    EXPECT_EQ(result.last.stopped, StopReason::steps);
    if (in_step()) {
      EXPECT_EQ(result.parameters, run_training(this->request(seed, 60)).parameters);
    }
  }
}

TEST_P(SeededRun, EndsWithTheCauseWhenANodeFails) {
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int nodes = testing::nodes_for(seed);
    const int bad = has("strategy.name=single")      ? 0
                    : has("strategy.dedicated=true") ? nodes - 1
                                                     : static_cast<int>(seed / 3) % nodes;
    Config config;
    for (const std::string& assignment :
         joined({"model.name=quadratic", "optimizer.name=sgd", "run.steps=1000000", "data.workers=0",
                 "cluster.nodes=" + std::to_string(nodes)},
                GetParam()))
      config.set(testing::fitting(assignment, nodes));
    TrainingRequest request = testing::seeded_request(config.resolve(), testing::in_order_of(seed));
    request.learner = [&](NodeId node) {
      auto passes = std::make_shared<std::uint64_t>(0);
      return std::make_unique<testing::ToyLearner>(std::vector<float>(8), [=](auto, std::span<float> g) {
        if (node == NodeId{bad} && ++*passes == 1 + seed % 13) throw RunError("a node has burnt down");
        std::ranges::fill(g, 0.0F);
      });
    };
    EXPECT_EQ(failure(request), "a node has burnt down");
  }
}

TEST_P(SeededRun, EndsWithTheCauseWhenTheObserverFails) {
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TrainingRequest request = this->request(seed, 100'000, {"run.eval_every=5"});
    Watcher watcher;
    request.observer = &watcher;
    const auto fail = [] { throw RunError("the screen has burnt down"); };
    (seed % 2 == 0 ? watcher.progressed : watcher.evaluated) = fail;
    EXPECT_EQ(failure(request), "the screen has burnt down");
  }
}

TEST_P(SeededRun, EndsWithTheCauseWhenNothingCanBeSaved) {
  const testing::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < seeds_on_disk(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TrainingRequest request = this->request(seed, 100'000,
                                            {"run.checkpoint_every=5", "run.out=" + folder.path().string(),
                                             "run.name=run-" + std::to_string(seed)});
    request.keep = true;
    Watcher watcher;
    watcher.started = [](const RunInfo& info) {
      std::filesystem::remove_all(info.folder / "checkpoint");
      std::ofstream(info.folder / "checkpoint") << "in the way";
    };
    request.observer = &watcher;
    const std::string why = failure(request);
    EXPECT_NE(why.find("checkpoint"), std::string::npos) << why;
    EXPECT_EQ(why.find("no node can continue"), std::string::npos) << why;
  }
}

std::vector<Assignments> all_variants() {
  std::vector<Assignments> all = testing::seeded_in_step_variants();
  for (const Assignments& variant : testing::seeded_async_variants()) all.push_back(variant);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededRun, ::testing::ValuesIn(all_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
