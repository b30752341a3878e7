// However a run is stopped, all nodes end it after the same step.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/network.h"
#include "tests/support/train.h"

namespace veche {
namespace {

using testing::Network;
using testing::ToyLearner;

// Ends the run at the progress report with this number.
class Impatient : public RunObserver {
 public:
  explicit Impatient(int reports) : reports_(reports) { wants_to_end = reports == 0; }
  void on_progress(const Progress& progress) override {
    EXPECT_GT(progress.step, last_);
    last_ = progress.step;
    if (--reports_ <= 0) wants_to_end = true;
  }
  void on_evaluation(const Evaluation& /*evaluation*/) override {}
  std::atomic<bool> wants_to_end = false;

 private:
  int reports_;
  std::uint64_t last_ = 0;
};

// Learners that count their steps.
RunResult interrupted(const std::string& strategy, Network network, int reports) {
  Config config;
  config.set("cluster.nodes=5");
  config.set("model.name=quadratic");  // needs no data; the learner is below
  config.set("strategy.name=" + strategy);
  config.set("optimizer.name=sgd");
  config.set("optimizer.lr=1");
  config.set("run.steps=10000000");  // far more than the test waits for
  Impatient observer(reports);
  TrainingRequest request;
  request.settings = config.resolve();
  request.learner = [](NodeId) {
    return std::make_unique<ToyLearner>(std::vector<float>{0}, [](auto, std::span<float> g) { g[0] = -1; });
  };
  request.keep = false;
  request.observer = &observer;
  request.interrupted = &observer.wants_to_end;
  if (network == Network::unlucky) request.network = testing::unlucky();
  return run_training(request);
}

class Interruption : public ::testing::TestWithParam<std::tuple<std::string, Network, int>> {};

TEST_P(Interruption, EndsAllNodesAfterTheSameStep) {
  const auto& [strategy, network, reports] = GetParam();
  const RunResult result = interrupted(strategy, network, reports);
  EXPECT_EQ(result.last.stopped, StopReason::interrupted);
  ASSERT_EQ(result.parameters.size(), 5U);
  for (const auto& node : result.parameters)
    EXPECT_NEAR(node.front(), static_cast<float>(result.last.step), 0.4);
}

// The first progress report is read at once; with such quick steps, later ones are read a step
// after they were sent.
INSTANTIATE_TEST_SUITE_P(Runs, Interruption,
                         ::testing::Combine(::testing::Values("none", "consensus", "allreduce"),
                                            ::testing::Values(Network::quiet, Network::unlucky),
                                            ::testing::Values(0, 1, 3)));

}  // namespace
}  // namespace veche
