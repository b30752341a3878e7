// The conformance suite on the ranks of an MPI job: every strategy of the registry with one and with two
// nodes a rank, on the same exact problems as the threads engine, whose result it must give.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "cli/launch.h"
#include "tests/support/network.h"
#include "tests/support/own_pace.h"
#include "tests/support/problem.h"
#include "veche/base/errors.h"
#include "veche/comm/allreduce.h"
#include "veche/comm/native.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/training.h"

namespace veche {
namespace {

using testing::Network;
using testing::train_over;

Job* job = nullptr;  // of this process, joined in main

struct Case {
  std::string strategy;
  int nodes_per_rank;
};

class OverMpi : public ::testing::TestWithParam<Case> {
 protected:
  static int nodes() { return GetParam().nodes_per_rank * job->size(); }

  static TrainingResult run(const Config& config, Network network = Network::quiet) {
    return train_over(network, config, job);
  }
};

TEST_P(OverMpi, GivesTheResultOfThreads) {
  const Config config = testing::quadratic_problem(GetParam().strategy, nodes());
  const TrainingResult result = run(config);
  EXPECT_EQ(result.last.stopped, "steps");
  EXPECT_EQ(run(config, Network::unlucky).last.stopped, "steps");
  if (job->rank() != 0) return;
  const TrainingResult threads = train_over(Network::quiet, config);
  ASSERT_EQ(result.parameters.size(), threads.parameters.size());
  ASSERT_EQ(result.last.nodes.size(), threads.last.nodes.size())
      << "every rank's metrics arrive at the first";
  for (std::size_t node = 0; node < threads.last.nodes.size(); ++node)
    EXPECT_EQ(result.last.nodes[node].sent.bytes, threads.last.nodes[node].sent.bytes);
  for (std::size_t node = 0; node < threads.parameters.size(); ++node) {
    // MPI's own sum may add up in another order than the nodes'.
    if (GetParam().strategy != "allreduce") {
      EXPECT_EQ(result.parameters[node], threads.parameters[node]);
      continue;
    }
    ASSERT_EQ(result.parameters[node].size(), threads.parameters[node].size());
    for (std::size_t i = 0; i < threads.parameters[node].size(); ++i)
      EXPECT_NEAR(result.parameters[node][i], threads.parameters[node][i], 1e-6);
  }
}

TEST_P(OverMpi, WithoutARateNothingMoves) {
  Config config = testing::quadratic_problem(GetParam().strategy, nodes());
  config.set("optimizer.lr=0");
  config.set("model.x0=0.75");
  for (const auto& node : run(config).parameters)
    for (const float x : node) EXPECT_NEAR(x, 0.75, 1e-6);
}

TEST_P(OverMpi, EqualProblemsKeepNodesTogether) {
  Config config = testing::quadratic_problem(GetParam().strategy, nodes());
  testing::make_equal(config, nodes());
  const double expected = 1 - std::pow(0.95, testing::kProblemSteps);
  for (const auto& node : run(config).parameters) EXPECT_NEAR(node.front(), expected, 1e-5);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const StrategyInfo& info : strategies())
    if (info.name != "hogwild")
      for (const int each : {1, 2}) cases.push_back({info.name, each});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Strategies, OverMpi, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name = info.param.strategy + "_" + std::to_string(info.param.nodes_per_rank);
  std::ranges::replace(name, '-', '_');
  return name;
});

// Nodes that wait for nobody are never twice the same, and one that starts late holds the others back: all
// must have gone most of the way to the optimum of equal problems.
TEST(OwnPaceOverMpi, EveryFormGoesTowardsTheOptimum) {
  for (const testing::Assignments& variant : testing::own_pace_variants()) {
    const int nodes = std::max(3, job->size());
    Config config = testing::quadratic_problem("none", nodes);
    testing::make_equal(config, nodes);
    config.set("run.steps=200");
    config.set("cluster.work=equal");
    config.set("cluster.stall=[1,0.002]");  // else a rank may have done all before another has begun
    for (const std::string& assignment : variant) config.set(assignment);
    TrainingRequest request;
    request.settings = config.resolve();
    request.keep = false;
    request.job = job;
    if (variant.front() == "strategy.name=hogwild") {
      EXPECT_THROW(run_training(request), RequestError);
      continue;
    }
    const TrainingResult result = run_training(request);
    EXPECT_EQ(result.last.stopped, "steps") << testing::name_of(variant);
    if (job->rank() != 0) continue;
    for (const auto& x : result.parameters) {
      EXPECT_GT(x.front(), 0.5) << testing::name_of(variant);
      EXPECT_LT(x.front(), 1.01) << testing::name_of(variant);
    }
  }
}

// One node a rank that does something with its endpoint.
void on_every_rank(const std::function<void(Endpoint&, MessagePool&)>& body) {
  const auto cluster = job->cluster(job->size());
  const auto endpoint = cluster->endpoint(cluster->here().front());
  MessagePool pool;
  body(*endpoint, pool);
}

TEST(MpiEndpoint, KeepsTheOrderOfSmallAndLargeMessagesOfATag) {
  on_every_rank([](Endpoint& endpoint, MessagePool& pool) {
    constexpr std::size_t kCount = 200;
    const auto floats = [](std::size_t k) { return k % 3 == 0 ? std::size_t{300'000} : 1 + k; };
    const NodeId next{(endpoint.id().value + 1) % endpoint.size()};
    const NodeId before{(endpoint.id().value + endpoint.size() - 1) % endpoint.size()};
    for (std::size_t k = 0; k < kCount; ++k) {
      Message message = pool.make(floats(k) * sizeof(float));
      std::ranges::fill(message.writable<float>(), static_cast<float>(k));
      endpoint.send(next, Tag{k % 2 + (1ULL << 40)}, std::move(message));
    }
    // The even ones last: tags are conversations of their own.
    for (const std::size_t first : {1, 0})
      for (std::size_t k = first; k < kCount; k += 2) {
        const Received received = endpoint.receive(before, Tag{k % 2 + (1ULL << 40)}, Time(60));
        ASSERT_EQ(received.outcome, Received::Outcome::message);
        const auto numbers = received.message.as<float>();
        ASSERT_EQ(numbers.size(), floats(k));
        ASSERT_EQ(numbers.front(), static_cast<float>(k));
        ASSERT_EQ(numbers.back(), static_cast<float>(k));
      }
  });
}

TEST(MpiEndpoint, DeadlinesPassAndLostPeersAreValues) {
  const auto cluster = job->cluster(job->size());
  auto endpoint = cluster->endpoint(cluster->here().front());
  const NodeId last{job->size() - 1};
  if (endpoint->id() == last) {
    MessagePool pool;
    endpoint->send(NodeId{0}, Tag{7}, pool.make(1 << 20));
    return;  // and is gone
  }
  EXPECT_EQ(endpoint->receive({}, Tag{1}, endpoint->now() + Time(0.01)).outcome,
            Received::Outcome::timed_out);
  if (endpoint->id() == NodeId{0}) {
    EXPECT_EQ(endpoint->receive(last, Tag{7}, Time(60)).outcome, Received::Outcome::message);
  }
  EXPECT_EQ(endpoint->receive(last, Tag{7}, Time(60)).outcome, Received::Outcome::peer_lost);
  EXPECT_FALSE(endpoint->alive(last));
}

TEST(MpiAllReduce, EveryAlgorithmAddsUpTheSameBitsEverywhere) {
  for (const char* name : {"all-to-all", "tree", "ring", "halving-doubling", "native", "auto"})
    for (const std::size_t length : {std::size_t{1}, std::size_t{1000}, std::size_t{300'001}})
      on_every_rank([&](Endpoint& endpoint, MessagePool& pool) {
        Patience patience(Time(60));
        Channel channel{endpoint, pool, patience, Tag{1}};
        const auto value = [](int node, std::size_t i) {
          return static_cast<float>((node + 1) * static_cast<int>(i % 13));
        };
        std::vector<float> data(length);
        for (std::size_t i = 0; i < length; ++i) data[i] = value(endpoint.id().value, i);
        all_reduce(channel, data, all_reduce_named(name));
        const int n = endpoint.size();
        for (std::size_t i = 0; i < length; ++i)
          ASSERT_EQ(data[i], static_cast<float>(n * (n + 1) / 2 * static_cast<int>(i % 13))) << name;
        EXPECT_EQ(channel.sent().bytes, endpoint.sent().bytes);
      });
}

TEST(Mpi, AFailureOnOneRankIsKnownToAll) {
  TrainingRequest request;
  request.settings = testing::quadratic_problem("consensus", job->size()).resolve(Config::Model::own_learner);
  request.keep = false;
  request.job = job;
  const int culprit = job->size() - 1;
  request.learner = [&](NodeId node) -> std::unique_ptr<Learner> {
    if (node.value == culprit) throw RequestError("no learner here");
    throw RequestError("another sentence");
  };
  try {
    run_training(request);
    FAIL() << "nobody noticed";
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0 on "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto joined = veche::cli::join_job();
  if (joined == nullptr) {
    std::cerr << "start it under mpirun\n";
    return 1;
  }
  veche::job = joined.get();
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (joined->rank() != 0) delete listeners.Release(listeners.default_result_printer());
  return RUN_ALL_TESTS();
}
