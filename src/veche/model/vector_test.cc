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
  spec.settings.length = length;
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

// With nothing to learn, nodes that mix agree on the mean of their initial values.
TEST(Vector, StartsApartWhereItIsTold) {
  const testing::Assignments vector{"model.name=vector", "model.length=1000"};
  const testing::Assignments quadratic{"model.name=quadratic", "model.a=[0,0,0,0]",
                                       "model.b=[[0,0,0],0,0,0]"};
  for (const auto& model : {vector, quadratic}) {
    const auto train = [&](const testing::Assignments& more) {
      return testing::train(testing::joined(testing::joined(model, {"model.start=different"}), more))
          .parameters;
    };
    const auto apart = train({"strategy.name=none", "run.steps=1"});
    EXPECT_NE(apart[0], apart[1]);
    EXPECT_EQ(train({"strategy.name=none", "run.steps=1"}), apart) << "the seed decides";
    const auto mixed = train({"strategy.name=consensus", "run.steps=100"});
    for (std::size_t k = 0; k < apart[0].size(); ++k)
      EXPECT_NEAR(mixed[0][k], (apart[0][k] + apart[1][k] + apart[2][k] + apart[3][k]) / 4, 1e-5);
  }
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
