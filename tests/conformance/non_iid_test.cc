// With different data per node, plain consensus is biased and gradient tracking is not.
#include <gtest/gtest.h>

#include "tests/support/train.h"

namespace veche {
namespace {

double accuracy(const std::string& correction) {
  const auto result = testing::train(
      {"data.name=fashion-mnist", "data.partition=classes:2", "data.batch=50", "model.name=mlp",
       "model.hidden=[32]", "optimizer.name=sgd", "optimizer.lr=0.05", "run.steps=300", "cluster.nodes=8",
       "topology.graph=ring", "strategy.name=consensus", "strategy.correction=" + correction});
  double sum = 0;
  for (const NodeReport& node : result.last.nodes) sum += node.test.accuracy() / 8;
  return sum;
}

TEST(NonIid, GradientTrackingEndsAbovePlainConsensus) {
  const double plain = accuracy("none");
  const double tracked = accuracy("gradient-tracking");
  RecordProperty("plain", std::to_string(plain));
  RecordProperty("tracked", std::to_string(tracked));
  EXPECT_GT(tracked, plain + 0.02) << "plain " << plain << ", tracked " << tracked;
}

}  // namespace
}  // namespace veche
