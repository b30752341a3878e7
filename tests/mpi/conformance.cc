// The conformance suite on the ranks of an MPI job: every strategy of the registry with one and with two
// nodes a rank, on the same exact problems as the threads engine, whose result it must give.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "tests/support/async_forms.h"
#include "tests/support/codecs.h"
#include "tests/support/network.h"
#include "tests/support/problem.h"
#include "veche/comm/allreduce/allreduce.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/mpi/launch.h"
#include "veche/comm/neighbourhood.h"
#include "veche/comm/parts.h"
#include "veche/compress/codec_spec.h"
#include "veche/errors.h"
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

  static RunResult run(const Config& config, Network network = Network::quiet) {
    return train_over(network, config, job);
  }
};

TEST_P(OverMpi, GivesTheResultOfThreads) {
  const Config config = testing::quadratic_problem(GetParam().strategy, nodes());
  const RunResult result = run(config);
  EXPECT_EQ(result.last.stopped, "steps");
  EXPECT_EQ(run(config, Network::unlucky).last.stopped, "steps");
  if (job->rank() != 0) return;
  const RunResult threads = train_over(Network::quiet, config);
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

struct CodedCase {
  std::string strategy, codec;
};

class CodedOverMpi : public ::testing::TestWithParam<CodedCase> {
 protected:
  static RunResult run(Job* where) {
    Config config;
    for (const std::string& assignment :
         {std::string("model.name=quadratic"), std::string("optimizer.name=sgd"),
          std::string("optimizer.lr=0.1"), std::string("run.steps=12"),
          "cluster.nodes=" + std::to_string(2 * job->size()), "strategy.name=" + GetParam().strategy,
          "compress.codec=" + GetParam().codec})
      config.set(assignment);
    TrainingRequest request;
    request.settings = config.resolve();
    request.learner = testing::drawn_learner;
    request.keep = false;
    request.job = where;
    return run_training(request);
  }
  // Of sums of floats, which an engine's own collective may add up in another order.
  static bool in_any_order() {
    return parse_codec("codec", GetParam().codec).sum() == CodecSpec::Sum::phases &&
           (GetParam().strategy == "allreduce" || GetParam().strategy == "local-sgd");
  }
};

TEST_P(CodedOverMpi, GivesTheBitsAndBytesOfThreads) {
  const RunResult result = run(job);
  if (job->rank() != 0) return;
  const RunResult threads = run(nullptr);
  ASSERT_EQ(result.last.nodes.size(), threads.last.nodes.size());
  for (std::size_t node = 0; node < threads.last.nodes.size(); ++node) {
    EXPECT_EQ(result.last.nodes[node].sent.bytes, threads.last.nodes[node].sent.bytes);
    EXPECT_EQ(result.last.nodes[node].coding.coded_bytes, threads.last.nodes[node].coding.coded_bytes);
    EXPECT_GT(result.last.nodes[node].coding.coded_bytes, 0U);
    const std::vector<float>&ours = result.parameters[node], &theirs = threads.parameters[node];
    if (!in_any_order()) {
      EXPECT_EQ(ours, theirs);
      continue;
    }
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-5);
  }
}

std::vector<CodedCase> coded_cases() {
  std::vector<CodedCase> cases;
  for (const char* strategy : {"allreduce", "local-sgd", "parameter-server", "consensus", "gossip",
                               "push-sum", "moshpit", "hierarchical"})
    for (const char* codec : {"fp16", "sign", "topk:0.2", "powersgd:2"}) cases.push_back({strategy, codec});
  for (const char* codec : {"bf16", "int8", "qsgd:8", "threshold:0.05", "randomk:0.3", "dgc:0.3"})
    cases.push_back({"allreduce", codec});
  cases.push_back({"consensus", "powergossip:1"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Pairs, CodedOverMpi, ::testing::ValuesIn(coded_cases()), [](const auto& info) {
  std::string name = info.param.strategy + "_" + info.param.codec;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
});

// Nodes that wait for nobody are never twice the same, and one that starts late holds the others back: all
// must have gone most of the way to the optimum of equal problems.
TEST(AsyncOverMpi, EveryFormGoesTowardsTheOptimum) {
  for (const testing::Assignments& variant : testing::async_variants()) {
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
    const RunResult result = run_training(request);
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
  EXPECT_EQ(endpoint->receive(endpoint->id(), Tag{1}, endpoint->now() + Time(0.01)).outcome,
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
        const int ones = n * (n + 1) / 2;
        for (std::size_t i = 0; i < length; ++i)
          ASSERT_EQ(data[i], static_cast<float>(ones * static_cast<int>(i % 13))) << name;
        EXPECT_EQ(channel.sent().bytes, endpoint.sent().bytes);
      });
}

// `body` for every node, with two a rank and one slot.
void on_every_node(const std::function<void(Endpoint&)>& body, int nodes_per_rank = 2) {
  const auto cluster = job->cluster(nodes_per_rank * job->size(), 1);
  std::map<NodeId, std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId node : cluster->here()) endpoints[node] = cluster->endpoint(node);
  cluster->run([&](NodeId node) { body(*endpoints.at(node)); });
}

TEST(MpiExecution, AHelperThatWaitsIsEndedWithItsNode) {
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

TEST(MpiExecution, WhoWaitsForAnyoneIsToldOfEachLossOnceATagAfterWhatItSent) {
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

TEST(MpiExecution, TheSlotIsGivenBackAroundEveryWait) {
  on_every_node([&](Endpoint& endpoint) {
    MessagePool pool;
    const int n = endpoint.size();
    endpoint.compute({}, [&] {
      endpoint.send(wrapped(endpoint.id().value + 1, n), Tag{1}, pool.make(10));
      EXPECT_EQ(endpoint.receive(wrapped(endpoint.id().value - 1, n), Tag{1}, Time(60)).outcome,
                Received::Outcome::message);
      std::vector<float> data(1000, 1.0F);
      EXPECT_EQ(endpoint.collectives()->all_reduce(Tag{2}, data, Time(60)).outcome,
                Received::Outcome::message);
      EXPECT_EQ(data.back(), static_cast<float>(n));
    });
  });
  // The others come to the exchange when a helper of the first has found a slot beside it.
  on_every_node(
      [&](Endpoint& endpoint) {
        MessagePool pool;
        const int n = endpoint.size();
        const std::vector<NodeId> next{wrapped(endpoint.id().value + 1, n)};
        const std::vector<NodeId> before{wrapped(endpoint.id().value - 1, n)};
        const auto neighbours = endpoint.collectives()->neighbourhood(before, next, 1000);
        if (endpoint.id() == NodeId{0})
          endpoint.spawn([&endpoint] {
            MessagePool own;
            endpoint.receive(endpoint.id(), Tag{1}, kForever);
            endpoint.compute({}, [&] {
              for (int i = 1; i < endpoint.size(); ++i) endpoint.send(NodeId{i}, Tag{2}, own.make(1));
            });
          });
        else
          EXPECT_EQ(endpoint.receive(NodeId{0}, Tag{2}, Time(60)).outcome, Received::Outcome::message);
        endpoint.compute({}, [&] {
          endpoint.send(endpoint.id(), Tag{1}, pool.make(1));
          EXPECT_EQ(neighbours->exchange(Time(60)).outcome, Received::Outcome::message);
        });
      },
      1);
}

// They would count beyond int, and take more memory than there is.
TEST(MpiEndpoint, NeighboursOfVeryLongVectorsUseMessages) {
  on_every_rank([](Endpoint& endpoint, MessagePool&) {
    const std::vector<NodeId> next{NodeId{(endpoint.id().value + 1) % endpoint.size()}};
    const std::vector<NodeId> before{NodeId{(endpoint.id().value + endpoint.size() - 1) % endpoint.size()}};
    EXPECT_EQ(endpoint.collectives()->neighbourhood(before, next, std::size_t{1} << 31), nullptr);
    EXPECT_NE(endpoint.collectives()->neighbourhood(before, next, 10), nullptr);
  });
}

TEST(Mpi, TextsOfAnyLengthAreExchanged) {
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

TEST(Mpi, AFailureOfOneRankIsThrownByAllAndTheJobGoesOn) {
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

TEST(Mpi, AFailureOnOneRankIsKnownToAll) {
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

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto joined = veche::join_launched_job();
  if (joined == nullptr) {
    std::cerr << "start it under mpirun\n";
    return 1;
  }
  veche::job = joined.get();
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (joined->rank() != 0) delete listeners.Release(listeners.default_result_printer());
  return RUN_ALL_TESTS();
}
