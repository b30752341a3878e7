// The conformance suite on the ranks of a job: every registered strategy with one and two nodes per
// rank, on the same exact problems as the threads engine, with the same results.
#include "tests/conformance/over_job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/support/async_forms.h"
#include "tests/support/network.h"
#include "tests/support/problem.h"
#include "veche/comm/allreduce/allreduce.h"
#include "veche/comm/parts.h"
#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/run/training.h"

namespace veche {

namespace testing {
Job* job = nullptr;
bool sums_by_messages = false;

void on_every_rank(const std::function<void(Endpoint&, MessagePool&)>& body) {
  const auto cluster = job->cluster(job->size());
  const auto endpoint = cluster->endpoint(cluster->here().front());
  MessagePool pool;
  body(*endpoint, pool);
}

void on_every_node(const std::function<void(Endpoint&)>& body, int nodes_per_rank) {
  const auto cluster = job->cluster(nodes_per_rank * job->size(), 1);
  std::map<NodeId, std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId node : cluster->here()) endpoints[node] = cluster->endpoint(node);
  cluster->run([&](NodeId node) { body(*endpoints.at(node)); });
}

int run_over(Job& joined) {
  job = &joined;
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (joined.rank() != 0) delete listeners.Release(listeners.default_result_printer());
  return RUN_ALL_TESTS();
}

}  // namespace testing

namespace {

using testing::job;
using testing::Network;
using testing::on_every_node;
using testing::on_every_rank;
using testing::train_over;

struct Case {
  std::string strategy;
  int nodes_per_rank;
};

class OverJob : public ::testing::TestWithParam<Case> {
 protected:
  static int nodes() { return GetParam().nodes_per_rank * job->size(); }

  static RunResult run(const Config& config, Network network = Network::quiet) {
    return train_over(network, config, job);
  }
};

// Forms with helpers or outer optimisers: fragments are added up while the nodes train.
TEST(OuterForms, GiveTheResultOfThreads) {
  const std::vector<testing::Assignments> forms = {
      {"strategy.name=local-sgd", "strategy.period=6", "strategy.fragments=3", "strategy.delay=1",
       "strategy.blend=0.5", "strategy.outer=nesterov"},
      {"strategy.name=local-sgd", "strategy.period=10", "strategy.delay=4", "compress.codec=int8"},
      {"strategy.name=local-sgd", "strategy.period=3", "strategy.correction=scaffold", "strategy.outer=yogi"},
      {"strategy.name=gossip", "strategy.outer=nesterov", "strategy.every=4"}};
  for (const testing::Assignments& form : forms) {
    Config config = testing::quadratic_problem("none", job->size());
    for (const std::string& assignment : form) config.set(assignment);
    const RunResult result = train_over(Network::quiet, config, job);
    EXPECT_EQ(result.last.stopped, StopReason::steps);
    if (job->rank() != 0) continue;
    const RunResult threads = train_over(Network::quiet, config);
    EXPECT_EQ(result.parameters, threads.parameters) << form[1];
    for (std::size_t node = 0; node < threads.last.nodes.size(); ++node)
      EXPECT_EQ(result.last.nodes[node].sent.bytes, threads.last.nodes[node].sent.bytes) << form[1];
  }
}

TEST_P(OverJob, GivesTheResultOfThreads) {
  const Config config = testing::quadratic_problem(GetParam().strategy, nodes());
  const RunResult result = run(config);
  EXPECT_EQ(result.last.stopped, StopReason::steps);
  EXPECT_EQ(run(config, Network::unlucky).last.stopped, StopReason::steps);
  if (job->rank() != 0) return;
  const RunResult threads = train_over(Network::quiet, config);
  ASSERT_EQ(result.parameters.size(), threads.parameters.size());
  ASSERT_EQ(result.last.nodes.size(), threads.last.nodes.size())
      << "every rank's metrics arrive at the first";
  // An engine's own collective counts as the minimum that messages would need.
  const bool by_messages = testing::sums_by_messages && GetParam().strategy == "allreduce";
  for (std::size_t node = 0; node < threads.last.nodes.size() && !by_messages; ++node)
    EXPECT_EQ(result.last.nodes[node].sent.bytes, threads.last.nodes[node].sent.bytes);
  for (std::size_t node = 0; node < threads.parameters.size(); ++node) {
    // An engine's own sum may use another order than the nodes'.
    if (testing::sums_by_messages || GetParam().strategy != "allreduce") {
      EXPECT_EQ(result.parameters[node], threads.parameters[node]);
      continue;
    }
    ASSERT_EQ(result.parameters[node].size(), threads.parameters[node].size());
    for (std::size_t i = 0; i < threads.parameters[node].size(); ++i)
      EXPECT_NEAR(result.parameters[node][i], threads.parameters[node][i], 1e-6);
  }
}

TEST_P(OverJob, WithoutARateNothingMoves) {
  Config config = testing::quadratic_problem(GetParam().strategy, nodes());
  config.set("optimizer.lr=0");
  config.set("model.x0=0.75");
  for (const auto& node : run(config).parameters)
    for (const float x : node) EXPECT_NEAR(x, 0.75, 1e-6);
}

TEST_P(OverJob, EqualProblemsKeepNodesTogether) {
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

INSTANTIATE_TEST_SUITE_P(Strategies, OverJob, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name = info.param.strategy + "_" + std::to_string(info.param.nodes_per_rank);
  std::ranges::replace(name, '-', '_');
  return name;
});

// Asynchronous runs are not repeatable, and a late node holds the others back: all must come most
// of the way to the optimum of equal problems.
TEST(AsyncOverJob, EveryFormGoesTowardsTheOptimum) {
  for (const testing::Assignments& variant : testing::async_variants()) {
    const int nodes = std::max(3, job->size());
    Config config = testing::quadratic_problem("none", nodes);
    testing::make_equal(config, nodes);
    config.set("run.steps=200");
    config.set("cluster.work=equal");
    config.set("cluster.stall=[1,0.002]");  // otherwise one rank may finish before another begins
    for (const std::string& assignment : variant) config.set(assignment);
    TrainingRequest request;
    request.settings = config.resolve();
    request.keep = false;
    request.job = job;
    if (variant.front() == "strategy.name=hogwild") {
      EXPECT_THROW(run_training(request), RequestError);
      continue;
    }
    const RunResult result = run_training(request);
    EXPECT_EQ(result.last.stopped, StopReason::steps) << testing::name_of(variant);
    if (job->rank() != 0) continue;
    for (const auto& x : result.parameters) {
      EXPECT_GT(x.front(), 0.5) << testing::name_of(variant);
      EXPECT_LT(x.front(), 1.01) << testing::name_of(variant);
    }
  }
}

TEST(JobEndpoint, KeepsTheOrderOfSmallAndLargeMessagesOfATag) {
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
    // The even ones last: tags are separate conversations.
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

TEST(JobEndpoint, DeadlinesPassAndLostPeersAreValues) {
  const auto cluster = job->cluster(job->size());
  auto endpoint = cluster->endpoint(cluster->here().front());
  const NodeId last{job->size() - 1};
  if (endpoint->id() == last) {
    MessagePool pool;
    endpoint->send(NodeId{0}, Tag{7}, pool.make(1 << 20));
    return;  // and is gone
  }
  EXPECT_EQ(endpoint->receive(endpoint->id(), Tag{1}, endpoint->now() + Time(0.01)).outcome,
            Received::Outcome::timed_out);
  if (endpoint->id() == NodeId{0}) {
    EXPECT_EQ(endpoint->receive(last, Tag{7}, Time(60)).outcome, Received::Outcome::message);
  }
  EXPECT_EQ(endpoint->receive(last, Tag{7}, Time(60)).outcome, Received::Outcome::peer_lost);
  EXPECT_FALSE(endpoint->alive(last));
}

TEST(JobEndpoint, MessagesOfAnotherSizeNameThePeer) {
  on_every_rank([](Endpoint& endpoint, MessagePool& pool) {
    AdaptiveTimeout timeout(Time(60));
    Channel channel{endpoint, pool, timeout, Tag{1}};
    const NodeId next{(endpoint.id().value + 1) % endpoint.size()};
    const NodeId before{(endpoint.id().value + endpoint.size() - 1) % endpoint.size()};
    for (const std::size_t bytes : {0, 39, 44, 1'000'000}) {
      channel.send(next, pool.make(bytes));
      try {
        channel.expect(before, 40);
        ADD_FAILURE() << bytes;
      } catch (const BadMessage& error) {
        EXPECT_EQ(error.what(), "node " + std::to_string(before.value) + " sent " + std::to_string(bytes) +
                                    " bytes where a message of 40 bytes was expected");
      }
    }
  });
}

TEST(JobAllReduce, EveryAlgorithmAddsUpTheSameBitsEverywhere) {
  for (const char* name : {"all-to-all", "tree", "ring", "halving-doubling", "native", "auto"})
    for (const std::size_t length : {std::size_t{1}, std::size_t{1000}, std::size_t{300'001}})
      on_every_rank([&](Endpoint& endpoint, MessagePool& pool) {
        AdaptiveTimeout timeout(Time(60));
        Channel channel{endpoint, pool, timeout, Tag{1}};
        const auto value = [](int node, std::size_t i) {
          return static_cast<float>((node + 1) * static_cast<int>(i % 13));
        };
        std::vector<float> data(length);
        for (std::size_t i = 0; i < length; ++i) data[i] = value(endpoint.id().value, i);
        all_reduce(channel, data, all_reduce_named(name));
        const int n = endpoint.size();
        const int ones = n * (n + 1) / 2;
        for (std::size_t i = 0; i < length; ++i)
          ASSERT_EQ(data[i], static_cast<float>(ones * static_cast<int>(i % 13))) << name;
        EXPECT_EQ(channel.sent().bytes, endpoint.sent().bytes);
      });
}

TEST(JobExecution, AHelperThatWaitsIsEndedWithItsNode) {
  std::atomic<int> ended = 0;
  on_every_node([&](Endpoint& endpoint) {
    endpoint.spawn([&endpoint, &ended] {
      try {
        while (endpoint.receive({}, Tag{1}, kForever).outcome != Received::Outcome::message) {
        }
      } catch (const NodeEnded&) {
        ++ended;
        throw;
      }
    });
  });
  EXPECT_EQ(ended, 2);
}

TEST(JobExecution, WhoWaitsForAnyoneIsToldOfEachLossOnceATagAfterWhatItSent) {
  on_every_node([&](Endpoint& endpoint) {
    MessagePool pool;
    const int others = endpoint.size() - 1;
    for (const Tag tag : {Tag{1}, Tag{2}}) {
      if (endpoint.id() != NodeId{0}) {
        endpoint.send(NodeId{0}, tag, pool.make(100));
        endpoint.send(NodeId{0}, tag, pool.make(100'000));
        continue;
      }
      std::map<NodeId, int> messages;
      std::set<NodeId> lost;
      while (static_cast<int>(lost.size()) < others) {
        const Received received = endpoint.receive({}, tag, endpoint.now() + Time(60));
        ASSERT_NE(received.outcome, Received::Outcome::timed_out);
        if (received.outcome == Received::Outcome::message) {
          EXPECT_EQ(lost.count(received.from), 0U);
          ++messages[received.from];
        } else {
          EXPECT_TRUE(lost.insert(received.from).second);
          EXPECT_EQ(messages[received.from], 2);
        }
      }
      EXPECT_EQ(endpoint.receive({}, tag, endpoint.now() + Time(0.01)).outcome, Received::Outcome::timed_out);
    }
  });
}

TEST(Job, TextsOfAnyLengthAreExchanged) {
  const auto text_of = [](int rank) {
    return std::string(
        rank % 2 == 0 ? 20'000'000 + static_cast<std::size_t>(rank) : static_cast<std::size_t>(rank),
        static_cast<char>('a' + rank));
  };
  const std::vector<std::string> texts = job->exchange(text_of(job->rank()));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(job->size()));
  for (int rank = 0; rank < job->size(); ++rank)
    EXPECT_TRUE(texts[static_cast<std::size_t>(rank)] == text_of(rank)) << rank;
  for (const std::string& nothing : job->exchange("")) EXPECT_EQ(nothing, "");
}

TEST(Job, AFailureOfOneRankIsThrownByAllAndTheJobGoesOn) {
  for (int round = 0; round < 3; ++round)
    for (int culprit = 0; culprit < job->size(); ++culprit) {
      try {
        if (job->rank() == culprit) job->fail(RequestError("no"));
        job->exchange("yes");
        ADD_FAILURE() << "nobody noticed";
      } catch (const RequestError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "rank " + std::to_string(culprit) + " on " + job->host_of(culprit) + ": no");
      }
    }
  EXPECT_EQ(job->exchange("fine").back(), "fine");
}

TEST(Job, AFailureOnOneRankIsKnownToAll) {
  TrainingRequest request;
  request.settings = testing::quadratic_problem("consensus", job->size()).resolve();
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
