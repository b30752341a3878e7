#include "veche/model/vector.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/train.h"
#include "veche/errors.h"

namespace veche {
namespace {

ModelSpec spec_of(std::int64_t length) {
  ModelSpec spec;
  spec.name = "vector";
  spec.options.set("length", {length});
  return spec;
}

TEST(Vector, HasItsLengthAndNoGradient) {
  const auto learner = make_learner(spec_of(1000));
  ASSERT_EQ(learner->parameters().size(), 1000U);
  std::ranges::fill(learner->gradients(), 5.0F);  // as a strategy may
  EXPECT_EQ(learner->compute_gradient({}).count, 1);
  EXPECT_TRUE(std::ranges::all_of(learner->gradients(), [](float g) { return g == 0; }));
  EXPECT_EQ(learner->parameter_layout().at(0).shape, std::vector<std::int64_t>{1000});
  EXPECT_FALSE(needs_data("vector"));
}

TEST(Vector, StaysWhatItIs) {
  for (const char* strategy : {"allreduce", "consensus", "parameter-server", "local-sgd", "gossip"}) {
    const RunResult result = testing::train(
        {"model.name=vector", "model.length=100", "run.steps=5", std::string("strategy.name=") + strategy});
    for (const auto& node : result.parameters) EXPECT_EQ(node, std::vector<float>(100, 1.0F)) << strategy;
  }
}

TEST(Vector, NeedsALengthThatFits) {
  ModelSpec none;
  none.name = "vector";
  EXPECT_THROW(make_learner(none), RequestError);
  EXPECT_THROW(make_learner(spec_of(std::int64_t{1} << 39)), RequestError);
}

}  // namespace
}  // namespace veche
