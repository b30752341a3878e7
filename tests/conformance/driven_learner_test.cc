// Learners whose gradients come from outside the run and may end at different steps: every strategy
// ends without a hang, after the step at which the last of them has none left.
#include "veche/driven_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/seeded.h"
#include "veche/collectives.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::Assignments;

// f(x) = 1/2 (x - node)^2 in three dimensions, for a number of steps that depends on the node.
class Driven : public DrivenLearner {
 public:
  Driven(NodeId node, int steps, bool exchanges)
      : minimum_(static_cast<float>(node.value)), steps_(steps), exchanges_(exchanges) {}

  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {{"x", {3}, {1}, 0}}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }
  Score evaluate(const Batch& /*batch*/) override { return {}; }

  void begin(Channel& channel, std::uint64_t step) override {
    EXPECT_EQ(step, 0U);
    nodes_ = channel.size();
  }
  bool next(std::uint64_t step) override {
    EXPECT_GE(step, static_cast<std::uint64_t>(made_));
    EXPECT_GT(nodes_, 0);
    return made_ < steps_;
  }
  Score compute_gradient(const Batch& /*batch*/) override {
    ++made_;
    computed_ = true;
    for (std::size_t i = 0; i < x_.size(); ++i) g_[i] = x_[i] - minimum_;
    return {.loss_sum = 0.5 * g_[0] * g_[0], .correct = 0, .count = 1};
  }
  bool exchanges() const override { return exchanges_; }
  void exchange(Channel& channel, bool active) override {
    EXPECT_EQ(active, computed_);
    computed_ = false;
    std::vector<float> sum{active ? 1.0F : 0.0F};
    all_reduce(channel, sum);
    EXPECT_GE(sum.front(), 1);
    EXPECT_LE(sum.front(), nodes_);
    ++exchanged_;
  }
  void end() override {
    ended_ = true;
    EXPECT_TRUE(!exchanges_ || exchanged_ >= made_);
  }
  ~Driven() override { EXPECT_TRUE(ended_ || steps_ == 0 || made_ < steps_); }

 private:
  const float minimum_;
  const int steps_;
  const bool exchanges_;
  int nodes_ = 0, made_ = 0, exchanged_ = 0;
  bool computed_ = false, ended_ = false;
  std::vector<float> x_ = std::vector<float>(3), g_ = std::vector<float>(3);
};

constexpr int kSteps = 12;

RunResult train(const Assignments& variant, std::uint64_t seed, bool equal_ends, bool exchanges) {
  const int nodes = testing::nodes_for(seed);
  Config config = Config::from_text("model.name = \"vector\"\nmodel.length = 3\n");
  for (const char* key : {"run.steps=1000000", "data.workers=0", "optimizer.name=sgd", "optimizer.lr=0.1"})
    config.set(key);
  config.set("cluster.nodes=" + std::to_string(nodes));
  for (const std::string& assignment : variant) config.set(testing::fitting(assignment, nodes));
  TrainingRequest request = testing::seeded_request(config.resolve(), testing::in_order_of(seed));
  request.learner = [equal_ends, exchanges](NodeId node) {
    return std::make_unique<Driven>(node, equal_ends ? kSteps : kSteps - 3 * node.value, exchanges);
  };
  return run_training(request);
}

class DrivenLearners : public ::testing::TestWithParam<Assignments> {};

TEST_P(DrivenLearners, EndWithTheirSamples) {
  const std::vector<Assignments> all = testing::seeded_in_step_variants();
  const bool in_step = std::ranges::find(all, GetParam()) != all.end();
  for (std::uint64_t seed = 0; seed < testing::seeds() / 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool equal_ends = seed % 2 == 0;
    const RunResult result = train(GetParam(), seed, equal_ends, in_step);
    EXPECT_EQ(result.last.stopped, StopReason::samples);
    for (const auto& node : result.parameters) ASSERT_TRUE(std::isfinite(node.at(0)));
    if (!in_step) continue;
    // Node 0 has the most samples, unless it is a server.
    const bool served = std::ranges::find(GetParam(), "strategy.dedicated=true") != GetParam().end();
    const int steps = served && !equal_ends ? kSteps - 3 : kSteps;
    for (const NodeReport& node : result.last.nodes) EXPECT_EQ(node.steps, static_cast<std::uint64_t>(steps));
  }
}

TEST(DrivenLearnersApart, DoNotExchange) {
  EXPECT_THROW(train({"strategy.name=gossip", "strategy.async=true"}, 1, true, true), RequestError);
}

std::vector<Assignments> variants() {
  std::vector<Assignments> all = testing::seeded_in_step_variants();
  const std::vector<Assignments> async = testing::seeded_async_variants();
  all.insert(all.end(), async.begin(), async.end());
  // One learner stands for all nodes; codecs of low rank need matrices.
  std::erase_if(all, [](const Assignments& variant) { return variant.front() == "strategy.name=single"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Strategies, DrivenLearners, ::testing::ValuesIn(variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
