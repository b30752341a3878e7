// Nodes with samples of every task, in many orders: loading, exchanging samples, reporting parts of
// a gradient during the pass, and evaluating models.
#include <gtest/gtest.h>

#include "tests/support/network.h"
#include "tests/support/seeded.h"
#include "tests/support/tasks.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;

constexpr int kSteps = 20;
constexpr std::int64_t kTestSamples = 250;

// x moves to the mean of the images; an image is classified right if it is brighter than x. The
// halves of the gradient are reported one after the other.
class Brightness : public Learner {
 public:
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  void on_gradient_ready(GradientListener listener) override { listener_ = std::move(listener); }
  Score compute_gradient(const Batch& batch) override {
    for (const std::size_t from : {std::size_t{2}, std::size_t{0}}) {
      for (std::size_t i = from; i < from + 2; ++i) {
        g_[i] = x_[i];
        for (std::size_t k = 0; k < batch.size(); ++k)
          g_[i] -= batch.inputs[4 * k + i] / static_cast<float>(batch.size());
      }
      if (listener_) listener_(from, from + 2);
    }
    return evaluate(batch);
  }
  Score evaluate(const Batch& batch) override {
    Score score{0, 0, static_cast<std::int64_t>(batch.size())};
    for (std::size_t k = 0; k < batch.size(); ++k) {
      score.loss_sum += static_cast<double>(batch.inputs[4 * k]);
      score.correct += batch.inputs[4 * k] > x_[0] ? 1 : 0;
    }
    return score;
  }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  std::vector<float> x_ = std::vector<float>(4), g_ = std::vector<float>(4);
  GradientListener listener_;
};

class Tests : public RunObserver {
 public:
  void on_progress(const Progress& /*progress*/) override {}
  void on_evaluation(const Evaluation& evaluation) override { all.push_back(evaluation); }
  std::vector<Evaluation> all;
};

struct Tested {
  RunResult result;
  std::vector<Evaluation> evaluations;
};

Assignments problem_of(Task task) {
  if (task != Task::classification) return testing::assignments_of(task);
  return {"model.name=mlp",  // which has data; the learner is ours
          "data.name=synthetic", "data.shape=[1,2,2]", "data.samples=60",
          "data.test_samples=" + std::to_string(kTestSamples)};
}

// Of a text two of the three tokens of a window are targets.
std::int64_t targets_of_test(Task task) { return kTestSamples * (task == Task::language ? 2 : 1); }

Tested train(Task task, const Assignments& variant, int nodes,
             const std::function<std::unique_ptr<Cluster>(int)>& engine) {
  Config config;
  const Assignments common{"data.batch=4",
                           "data.workers=0",
                           "run.eval_every=6",
                           "run.eval=all",
                           "optimizer.name=sgd",
                           "run.steps=" + std::to_string(kSteps),
                           "cluster.nodes=" + std::to_string(nodes)};
  for (const std::string& assignment : joined(joined(problem_of(task), common), variant))
    config.set(testing::fitting(assignment, nodes));
  TrainingRequest request;
  request.settings = config.resolve();
  if (task == Task::classification) request.learner = [](NodeId) { return std::make_unique<Brightness>(); };
  request.keep = false;
  request.cluster = engine;
  Tests tests;
  request.observer = &tests;
  RunResult result = run_training(request);
  return {std::move(result), std::move(tests.all)};
}

std::function<std::unique_ptr<Cluster>(int)> seeded(std::uint64_t seed) {
  return [seed](int nodes) { return std::make_unique<SeededCluster>(nodes, testing::in_order_of(seed)); };
}

class SeededDataInStep : public ::testing::TestWithParam<Assignments> {};

TEST_P(SeededDataInStep, GivesTheBitsAndTheScoresOfThreads) {
  for (std::uint64_t seed = 0; seed < testing::seeds() / 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int nodes = testing::nodes_for(seed);
    const Assignments variant =
        joined(GetParam(), {seed % 2 == 0 ? "data.shuffle=local" : "data.shuffle=global"});
    const Task task = testing::task_for(seed);
    const Tested expected = train(task, variant, nodes, {});
    const Tested found = train(task, variant, nodes, seeded(seed));
    EXPECT_EQ(found.result.parameters, expected.result.parameters);
    ASSERT_EQ(found.evaluations.size(), expected.evaluations.size());
    for (std::size_t i = 0; i < found.evaluations.size(); ++i) {
      const TestResult &of_found = found.evaluations[i].average_model,
                       &of_expected = expected.evaluations[i].average_model;
      EXPECT_EQ(of_found.task, task);
      EXPECT_EQ(of_found.count, targets_of_test(task));
      EXPECT_EQ(of_found.correct, of_expected.correct);
      EXPECT_EQ(of_found.loss_sum, of_expected.loss_sum);
      EXPECT_EQ(of_found.rmse(), of_expected.rmse());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededDataInStep,
                         ::testing::ValuesIn(testing::seeded_in_step_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

class SeededDataAsync : public ::testing::TestWithParam<Assignments> {};

TEST_P(SeededDataAsync, TestsModelsWhileNodesTrain) {
  std::size_t on_the_way = 0;
  for (std::uint64_t seed = 0; seed < testing::seeds() / 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Task task = testing::task_for(seed);
    const Tested found = train(task, GetParam(), testing::nodes_for(seed), seeded(seed));
    EXPECT_EQ(found.result.last.stopped, StopReason::steps);
    for (const Evaluation& evaluation : found.evaluations)
      EXPECT_EQ(evaluation.average_model.count, targets_of_test(task));
    ASSERT_FALSE(found.evaluations.empty());
    on_the_way += found.evaluations.size() - 1;
  }
  EXPECT_GT(on_the_way, 0U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededDataAsync, ::testing::ValuesIn(testing::seeded_async_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
