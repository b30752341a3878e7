#include "veche/train/measure/measure.h"

#include <gtest/gtest.h>

#include "tests/support/nodes.h"
#include "veche/comm/faulty/faulty.h"
#include "veche/random.h"

namespace veche {
namespace {

std::vector<float> model_of(int node, std::size_t length) {
  RandomStream random(3, "model", static_cast<std::uint64_t>(node));
  std::vector<float> model(length);
  for (float& x : model) x = static_cast<float>(random.uniform() - 0.5);
  return model;
}

// What an evaluation calls the average model is what an export writes, to the bit.
TEST(Measure, TheMeanOverNodesIsTheAverageOfModels) {
  for (const int nodes : {1, 2, 3, 7, 16, 17, 40})
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{1003}})
      for (const std::size_t idle : {std::size_t{0}, std::size_t{1}}) {
        if (idle >= static_cast<std::size_t>(nodes)) continue;
        std::vector<float> expected(length);
        ModelAverage average(expected);
        for (int node = static_cast<int>(idle); node < nodes; ++node) average.add(model_of(node, length));
        average.finish();
        testing::run_nodes(nodes, [&](testing::TestNode& node) {
          const std::vector<float> mine = model_of(node.me(), length);
          const Message mean = mean_over_nodes(node.channel, mine, idle);
          EXPECT_TRUE(std::ranges::equal(mean.as<float>(), expected));
        });
      }
}

// It would have cost a model or two on a network.
TEST(Measure, EqualModelsAreAveragedWithoutSendingThem) {
  constexpr std::size_t kLength = 100003;
  for (const int nodes : {2, 3, 7, 65}) {
    std::vector<float> expected(kLength);
    ModelAverage average(expected);
    for (int node = 0; node < nodes; ++node) average.add(model_of(0, kLength));
    average.finish();
    const auto network = [](auto inner) { return make_faulty(std::move(inner), FaultPlan{}); };
    testing::run_nodes(
        nodes,
        [&](testing::TestNode& node) {
          const std::vector<float> mine = model_of(0, kLength);
          const Message mean = mean_over_nodes(node.channel, mine);
          EXPECT_TRUE(std::ranges::equal(mean.as<float>(), expected));
          if (nodes > 64) return;
          EXPECT_LT(node.channel.sent().bytes, 100 * static_cast<std::uint64_t>(nodes));
        },
        network);
  }
}

}  // namespace
}  // namespace veche
