// Equivalence: all ways of averaging everything at every step are one algorithm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/train.h"
#include "veche/comm/allreduce/allreduce.h"
#include "veche/comm/faulty/faulty.h"
#include "veche/random.h"

namespace veche {
namespace {

std::vector<std::vector<float>> train(const std::vector<std::string>& assignments) {
  return testing::train(assignments).parameters;
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

class Equivalence : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Equivalence, GivesTheParametersOfOneLearnerWithTheWholeBatch) {
  std::vector<std::string> common = {"model.name=mlp",   "data.name=synthetic", "data.samples=1000",
                                     "data.batch=8",     "run.steps=20",        "optimizer.name=sgd",
                                     "optimizer.lr=0.1", "cluster.nodes=4"};
  auto with = [&](const std::vector<std::string>& more) {
    auto all = common;
    all.insert(all.end(), more.begin(), more.end());
    return train(all);
  };
  const auto one = with({"strategy.name=single"});
  const auto start = [&] {
    auto all = common;
    std::ranges::replace(all, "optimizer.lr=0.1", "optimizer.lr=0");
    all.emplace_back("strategy.name=single");
    return train(all);
  }();
  ASSERT_EQ(one.size(), 1U);
  ASSERT_GT(relative_difference(one.front(), start.front()), 0.01) << "the comparison would prove nothing";
  const auto nodes = with(GetParam());
  ASSERT_EQ(nodes.size(), 4U);
  for (const auto& node : nodes) EXPECT_LT(relative_difference(node, one.front()), 1e-5);
}

using Words = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(
    Strategies, Equivalence,
    ::testing::Values(Words{"strategy.name=allreduce"},
                      Words{"strategy.name=consensus", "topology.graph=complete", "topology.weights=uniform"},
                      Words{"strategy.name=local-sgd", "strategy.period=1"},
                      Words{"strategy.name=parameter-server"},
                      Words{"strategy.name=parameter-server", "strategy.servers=2"},
                      Words{"strategy.name=parameter-server", "strategy.servers=3"},
                      Words{"strategy.name=parameter-server", "strategy.fanout=2"},
                      Words{"strategy.name=parameter-server", "strategy.fanout=3", "strategy.servers=2"},
                      Words{"strategy.name=moshpit", "strategy.grid=[2,2]", "strategy.rounds=2"},
                      Words{"strategy.name=hierarchical", "strategy.groups=4"},
                      Words{"strategy.name=hierarchical", "strategy.groups=2", "topology.graph=complete",
                            "topology.weights=uniform"},
                      Words{"strategy.name=hierarchical", "strategy.groups=[[0,3],[1,2]]",
                            "strategy.across=members", "strategy.between=local-sgd"}),
    [](const auto& info) {
      std::string name;
      for (const std::string& word : info.param) name += word.substr(word.find('.') + 1) + "_";
      std::erase_if(name,
                    [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; });
      return name;
    });

std::vector<std::vector<std::string>> all_reduce_cases() {
  std::vector<std::vector<std::string>> cases;
  for (const std::string& algorithm : all_reduce_names())
    for (const char* overlap : {"true", "false"})
      cases.push_back({"strategy.algorithm=" + algorithm, std::string("strategy.overlap=") + overlap,
                       "strategy.name=allreduce", "strategy.bucket=0.05"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllReduce, Equivalence, ::testing::ValuesIn(all_reduce_cases()),
                         [](const auto& info) {
                           std::string name = info.param[0].substr(info.param[0].find('=') + 1);
                           std::ranges::replace(name, '-', '_');
                           return name + (info.param[1].ends_with("true") ? "_overlap" : "");
                         });

// Overlap changes only when messages leave, for any buckets, with fewer slots than nodes and with
// nodes that run out of samples; also for networks with batch norm and biases, which report parts
// at odd moments.
TEST(Overlap, ChangesNoBit) {
  for (const std::string model : {"mlp", "cnn"})
    for (const std::string algorithm : {"ring", "halving-doubling", "tree", "all-to-all", "native"}) {
      const auto run = [&](const std::string& overlap) {
        Config config;
        for (const std::string& assignment :
             {"model.name=" + model, std::string("data.name=synthetic"), std::string("data.samples=131"),
              std::string("data.batch=8"), std::string("run.steps=6"), std::string("optimizer.name=sgd"),
              std::string("cluster.nodes=5"), std::string("cluster.slots=1"),
              std::string("strategy.name=allreduce"),
              "strategy.bucket=" + std::string(model == "cnn" ? "0.6" : "0.03"),
              "strategy.algorithm=" + algorithm, "strategy.overlap=" + overlap})
          config.set(assignment);
        TrainingRequest request;
        request.settings = config.resolve();
        request.keep = false;
        // A decorated network has no collectives of its own: there `native` uses messages too.
        request.network = [](auto inner) {
          return make_faulty(std::move(inner), {.delay_probability = 0.02, .longest_delay = Time(0.0005)});
        };
        return run_training(request).parameters;
      };
      const auto with = run("true");
      EXPECT_EQ(with, run("false")) << model << " " << algorithm;
      for (const auto& node : with) EXPECT_EQ(node, with.front()) << model << " " << algorithm;
    }
}

// Batches in four passes of two samples are batches of eight, for every strategy.
TEST(Accumulation, GivesTheParametersOfTheLargerBatch) {
  const std::vector<std::string> common = {
      "model.name=mlp",     "data.name=synthetic",    "data.samples=203", "run.steps=12",
      "optimizer.name=sgd", "optimizer.momentum=0.9", "optimizer.lr=0.1", "cluster.nodes=4"};
  for (const std::vector<std::string>& strategy :
       std::vector<std::vector<std::string>>{{"strategy.name=single"},
                                             {"strategy.name=allreduce"},
                                             {"strategy.name=allreduce", "strategy.bucket=0.01"},
                                             {"strategy.name=consensus"},
                                             {"strategy.name=local-sgd", "strategy.period=3"},
                                             {"strategy.name=parameter-server"},
                                             {"strategy.name=allreduce", "pipeline.stages=2"}}) {
    const auto with = [&](const std::vector<std::string>& more) {
      return train(testing::joined(testing::joined(common, strategy), more));
    };
    const auto whole = with({"data.batch=8"});
    const std::string all = strategy.back() == "pipeline.stages=2" ? "16" : "32";
    for (const auto& passes :
         {with({"data.batch=2", "data.accumulate=4"}), with({"data.batch=3", "data.global_batch=" + all})}) {
      ASSERT_EQ(passes.size(), whole.size());
      for (std::size_t node = 0; node < whole.size(); ++node)
        EXPECT_LT(relative_difference(passes[node], whole[node]), 1e-5) << strategy.back() << " " << node;
    }
  }
}

// A single learner sees at every step exactly the samples of the nodes it stands for, whatever
// their data, batches, frequencies or lost results.
TEST(Single, SeesWhatTheNodesItStandsForSee) {
  std::uint64_t repeating = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    RandomStream random(seed, "single");
    const auto any_of = [&](const std::vector<std::string>& words) {
      return words[random.below(words.size())];
    };
    const int nodes = 1 + static_cast<int>(random.below(5));
    const auto list = [&](std::uint64_t most) {
      std::string all;
      for (int i = 0; i < nodes; ++i) all += (i > 0 ? "," : "[") + std::to_string(1 + random.below(most));
      return all + "]";
    };
    const bool repeats = random.below(2) == 0;
    repeating += repeats ? 1 : 0;
    std::vector<std::string> run = {
        "run.seed=" + std::to_string(seed),
        "model.name=mlp",
        "model.hidden=[6]",
        "data.name=synthetic",
        "data.shape=[1,6,6]",
        "data.samples=" + std::to_string(60 + random.below(60)),
        "data.test_samples=10",
        "data.batch=" + std::to_string(3 + random.below(8)),
        "data.augment=" + any_of({"none", "crop:1+flip"}),
        "optimizer.name=sgd",
        "optimizer.lr=0.2",
        "optimizer.clip=" + any_of({"0", "0.5"}),
        "cluster.nodes=" + std::to_string(nodes),
        "data.partition=" + any_of({"iid", nodes < 3 ? "iid" : "classes:4", "dirichlet:0.5"}),
        std::string("data.uneven=") + (repeats ? "repeat" : "wait")};
    switch (random.below(4)) {
      case 0:
        run.push_back("cluster.train_every=" + list(3));
        break;
      case 1:
        run.insert(run.end(), {"cluster.speed=" + list(4), "cluster.rest=false"});
        break;
      case 2:
        run.push_back("cluster.lose=0.3");
        break;
      default:
        break;
    }
    if (!repeats) run.push_back("data.shuffle=" + any_of({"local", "partial:0.5", "global"}));
    const auto trained = [&](const char* strategy) {
      auto all = run;
      all.insert(all.end(), {std::string("strategy.name=") + strategy, "run.epochs=2.5"});
      return testing::train(all);
    };
    std::string words;
    for (const std::string& word : run) words += word + " ";
    SCOPED_TRACE(words);
    const RunResult one = trained("single"), many = trained("allreduce");
    EXPECT_EQ(one.info.steps, many.info.steps);
    EXPECT_LT(relative_difference(many.parameters.front(), one.parameters.front()), 1e-5);
  }
  EXPECT_GT(repeating, 4U);
}

// Four quadratics on a ring (Q4 of docs/oracles.md): the limits are the fixed points of the rules,
// exactly.
const std::vector<std::string> kQ4 = {"model.name=quadratic",   "model.a=[1,2,3,4]", "model.b=[1,-1,2,0]",
                                      "optimizer.name=sgd",     "optimizer.lr=0.05", "run.steps=3000",
                                      "strategy.name=consensus"};

void expect_limit(std::vector<std::string> assignments, const std::vector<double>& limit) {
  assignments.insert(assignments.begin(), kQ4.begin(), kQ4.end());
  const auto parameters = train(assignments);
  ASSERT_EQ(parameters.size(), limit.size());
  for (std::size_t i = 0; i < limit.size(); ++i)
    EXPECT_NEAR(parameters[i].front(), limit[i], 1e-6) << "node " << i;
}

TEST(Q4, AdaptThenCombine) {
  expect_limit({}, {17397.0 / 43397, 21793.0 / 43397, 21634.0 / 43397, 22775.0 / 43397});
}

TEST(Q4, CombineThenAdapt) {
  expect_limit({"strategy.order=combine-then-adapt"},
               {539.0 / 1219, 21719.0 / 59731, 41462.0 / 59731, 1135.0 / 2597});
}

TEST(Q4, CompleteGraphReachesTheOptimum) {
  expect_limit({"topology.graph=complete", "topology.weights=uniform"}, {0.5, 0.5, 0.5, 0.5});
  expect_limit({"strategy.name=allreduce"}, {0.5, 0.5, 0.5, 0.5});
}

TEST(Q4, VectorsAreQuadraticsSideBySide) {
  const auto parameters =
      train({"model.name=quadratic", "model.a=[[1,1],[3,1]]", "model.b=[[0,2],[1,2]]", "optimizer.name=sgd",
             "optimizer.lr=0.1", "run.steps=500", "strategy.name=allreduce"});
  for (const auto& node : parameters) {
    EXPECT_NEAR(node[0], 0.75, 1e-5);
    EXPECT_NEAR(node[1], 2, 1e-5);
  }
}

}  // namespace
}  // namespace veche
