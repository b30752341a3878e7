// Codecs must never move the mean of averaging. Also CHOCO on a ring of four, against independent
// numbers (docs/oracles.md, oracles.py).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/codecs.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;

constexpr int kNodes = 6;

std::vector<std::vector<float>> average(const Assignments& assignments, int steps) {
  return testing::train(joined({"cluster.nodes=" + std::to_string(kNodes), "optimizer.name=sgd",
                                "run.steps=" + std::to_string(steps)},
                               assignments),
                        testing::still_learner)
      .parameters;
}

double squared_distance_from_mean(const std::vector<std::vector<float>>& nodes,
                                  const std::vector<double>& mean) {
  double sum = 0;
  for (const auto& node : nodes)
    for (std::size_t i = 0; i < mean.size(); ++i) sum += std::pow(node[i] - mean[i], 2);
  return sum;
}

struct MeanCase {
  std::string codec;
  Assignments strategy;
};

class Mean : public ::testing::TestWithParam<MeanCase> {};

// Only rounding moves it, by at most 1e-7 per round; a lossy codec would move it by the size of its
// error, 0.1 and more.
TEST_P(Mean, NeverMoves) {
  const Assignments how = joined(GetParam().strategy, {"compress.codec=" + GetParam().codec});
  const std::vector<double> mean = testing::mean_start(kNodes);
  const auto start = average(how, 1);
  for (const int steps : {7, 160}) {
    const auto nodes = average(how, steps);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double now = 0;
      for (const auto& node : nodes) now += node[i] / static_cast<double>(kNodes);
      ASSERT_NEAR(now, mean[i], 1e-5) << "entry " << i << " after " << steps;
    }
    if (steps > 100) {
      EXPECT_LT(squared_distance_from_mean(nodes, mean), 0.5 * squared_distance_from_mean(start, mean));
    }
  }
}

std::vector<MeanCase> mean_cases() {
  const std::vector<Assignments> strategies = {
      {"strategy.name=consensus"},
      {"strategy.name=consensus", "topology.graph=one-peer-exponential:6"},
      {"strategy.name=consensus", "compress.start=3"},
      {"strategy.name=gossip"},
      {"strategy.name=gossip", "strategy.draw=matching", "topology.graph=complete"},
      {"strategy.name=moshpit", "strategy.grid=[2,3]"}};
  std::vector<MeanCase> cases;
  for (const Assignments& strategy : strategies)
    for (const std::string& codec : testing::all_codecs()) {
      if (codec.starts_with("dgc")) continue;  // for gradients
      if (codec.starts_with("powergossip") && (strategy.front() == "strategy.name=moshpit" ||
                                               strategy.back().find("exponential") != std::string::npos))
        continue;  // needs edges both ways
      cases.push_back({codec, strategy});
    }
  cases.push_back({"topk:0.1", {"strategy.name=consensus", "compress.lossless=zstd"}});
  cases.push_back({"sign", {"strategy.name=consensus", "compress.small=20"}});
  cases.push_back({"topk:0.1", {"strategy.name=consensus", "strategy.rounds=2", "topology.graph=star"}});
  return cases;
}

std::string name_of(const MeanCase& c) {
  std::string name;
  for (const std::string& word : c.strategy) name += word.substr(word.find('=') + 1) + "_";
  name += c.codec;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Codecs, Mean, ::testing::ValuesIn(mean_cases()),
                         [](const auto& info) { return name_of(info.param); });

// The sums over nodes of vectors and weights are preserved, so the models end at the mean.
TEST(PushSumByCodes, ComesToTheMean) {
  const std::vector<double> mean = testing::mean_start(kNodes);
  for (const char* codec : {"fp16", "int8", "topk:0.3", "sign"}) {
    // Without gradients, signs converge better with smaller steps than those for training.
    const auto nodes = average({"strategy.name=push-sum", std::string("compress.codec=") + codec,
                                codec == std::string("sign") ? "compress.gamma=0.45" : "compress.gamma=auto"},
                               600);
    for (const auto& node : nodes)
      for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(node[i], mean[i], 0.05) << codec;
  }
}

TEST(Choco, OnARingOfFour) {
  const std::vector<std::vector<float>> start{{1, 0}, {0, 2}, {-1, 1}, {3, -4}};
  const auto after = [&](int steps) {
    return testing::train({"cluster.nodes=4", "strategy.name=consensus", "compress.codec=topk:0.5",
                           "compress.gamma=0.3", "run.steps=" + std::to_string(steps)},
                          [&](NodeId node) {
                            return std::make_unique<testing::ToyLearner>(
                                start[static_cast<std::size_t>(node.value)],
                                [](auto, std::span<float> g) { std::ranges::fill(g, 0.0F); });
                          })
        .parameters;
  };
  const std::vector<std::vector<double>> third{{1, -.42}, {.07, 1.112}, {.06, .14}, {1.87, -1.832}};
  const auto found = after(3);
  for (std::size_t node = 0; node < 4; ++node)
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found[node][i], third[node][i], 1e-6) << node << " " << i;
  double squares = 0;
  for (const auto& node : after(50)) squares += std::pow(node[0] - .75, 2) + std::pow(node[1] + .25, 2);
  // 2.3975e-10 in exact arithmetic; single precision adds to it.
  EXPECT_NEAR(squares, 2.3975e-10, 2e-12);
}

}  // namespace
}  // namespace veche
