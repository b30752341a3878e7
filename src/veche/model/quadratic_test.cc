#include "veche/model/quadratic.h"

#include <gtest/gtest.h>

#include "veche/errors.h"

namespace veche {
namespace {

Value list(std::vector<Value> items) { return Value{Value::List(std::move(items))}; }

ModelSpec spec_of(int nodes, int node, Value a, Value b) {
  ModelSpec spec;
  spec.name = "quadratic";
  spec.node = NodeId{node};
  spec.nodes = nodes;
  spec.settings.a = std::move(a);
  spec.settings.b = std::move(b);
  return spec;
}

TEST(Quadratic, GivesTheExactGradientOfItsNode) {
  const auto learner = make_learner(spec_of(2, 1, list({{1.0}, {4.0}}), list({{0.5}, {std::int64_t{3}}})));
  ASSERT_EQ(learner->parameters().size(), 1U);
  EXPECT_EQ(learner->parameters()[0], 0.0F);
  learner->parameters()[0] = 1.0F;
  const Score score = learner->compute_gradient({});
  EXPECT_EQ(learner->gradients()[0], -8.0F);
  EXPECT_EQ(score.loss_sum, 8.0);
  EXPECT_EQ(score.count, 1);
  EXPECT_EQ(learner->evaluate({}).loss(), 8.0);
}

TEST(Quadratic, TakesAListPerNodeForAVector) {
  ModelSpec spec = spec_of(2, 0, list({list({{1.0}, {2.0}}), list({{1.0}, {1.0}})}), list({{0.0}, {1.0}}));
  spec.settings.x0 = list({{3.0}, {5.0}});
  const auto learner = make_learner(spec);
  learner->compute_gradient({});
  ASSERT_EQ(learner->gradients().size(), 2U);
  EXPECT_EQ(learner->gradients()[0], 3.0F);
  EXPECT_EQ(learner->gradients()[1], 10.0F);
  EXPECT_EQ(learner->parameter_layout().at(0).shape, std::vector<std::int64_t>{2});
}

TEST(Quadratic, RefusesListsThatDoNotFit) {
  const Value two = list({{1.0}, {2.0}});
  EXPECT_THROW(make_learner(spec_of(3, 0, two, two)), RequestError);
  EXPECT_THROW(make_learner(spec_of(2, 0, two, list({list({{1.0}, {2.0}}), list({{1.0}, {2.0}, {3.0}})}))),
               RequestError);
  EXPECT_THROW(make_learner(spec_of(2, 0, two, Value{std::string("x")})), RequestError);
  ModelSpec nothing;
  nothing.name = "quadratic";
  EXPECT_THROW(make_learner(nothing), RequestError);
}

TEST(Zoo, NamesTheNearestModel) {
  ModelSpec spec;
  spec.name = "resnet2";
  try {
    make_learner(spec);
    FAIL() << "a model that does not exist was made";
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("'resnet20'"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(needs_data("quadratic"));
  EXPECT_TRUE(needs_data("cnn"));
}

}  // namespace
}  // namespace veche
