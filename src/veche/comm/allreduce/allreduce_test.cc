#include "veche/comm/allreduce/allreduce.h"

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>

#include "tests/support/nodes.h"
#include "veche/comm/allreduce/allreduce_table.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/faulty/faulty.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

using enum AllReduceAlgorithm;
using testing::run_nodes;
using testing::TestNode;

constexpr std::array kAll = {all_to_all, tree, ring, halving_doubling, native, automatic};

testing::Network slow_network() {
  return [](auto inner) {
    return make_faulty(std::move(inner), {.delay_probability = 0.1, .longest_delay = Time(0.001)});
  };
}

std::string test_name(AllReduceAlgorithm algorithm) {
  std::string name = name_of(algorithm);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<float> data_of(int node, std::size_t length) {
  RandomStream random(3, "data", static_cast<std::uint64_t>(node));
  std::vector<float> data(length);
  for (float& x : data) x = static_cast<float>(random.normal());
  return data;
}

struct Result {
  std::vector<std::vector<float>> data;  // by node
  std::vector<std::uint64_t> floats_sent;
};

// Runs twice on one channel, as in training; the traffic is that of the first.
Result reduce(AllReduceAlgorithm algorithm, int nodes, std::size_t length,
              const testing::Network& network = {}) {
  Result result{std::vector<std::vector<float>>(static_cast<std::size_t>(nodes)),
                std::vector<std::uint64_t>(static_cast<std::size_t>(nodes))};
  run_nodes(
      nodes,
      [&](TestNode& node) {
        const auto me = static_cast<std::size_t>(node.me());
        std::vector<float> first = data_of(node.me(), length);
        all_reduce(node.channel, first, algorithm);
        result.floats_sent[me] = node.channel.sent().bytes / sizeof(float);
        EXPECT_EQ(node.channel.sent().bytes, node.endpoint->sent().bytes);
        result.data[me] = data_of(node.me(), length);
        all_reduce(node.channel, result.data[me], algorithm);
        EXPECT_EQ(first, result.data[me]);
      },
      network);
  return result;
}

void expect_sums(const Result& result, std::size_t length) {
  std::vector<double> sum(length);
  for (std::size_t node = 0; node < result.data.size(); ++node) {
    const auto data = data_of(static_cast<int>(node), length);
    for (std::size_t i = 0; i < length; ++i) sum[i] += static_cast<double>(data[i]);
  }
  for (const auto& data : result.data) ASSERT_EQ(data, result.data.front());
  for (std::size_t i = 0; i < length; ++i) ASSERT_NEAR(result.data.front()[i], sum[i], 1e-4) << i;
}

using Setting = std::tuple<AllReduceAlgorithm, int>;
class AllReduceOf : public ::testing::TestWithParam<Setting> {
 protected:
  AllReduceAlgorithm algorithm() const { return std::get<0>(GetParam()); }
  int nodes() const { return std::get<1>(GetParam()); }
};

TEST_P(AllReduceOf, SumsToTheSameBitsEverywhereAndAgain) {
  const auto n = static_cast<std::size_t>(nodes());
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, n - 1, n, n + 1, std::size_t{1000}, std::size_t{100003}})
    expect_sums(reduce(algorithm(), nodes(), length), length);
}

TEST_P(AllReduceOf, TheNetworkNeverChangesTheResult) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{1000}, std::size_t{20011}}) {
    const Result slow = reduce(algorithm(), nodes(), length, slow_network());
    expect_sums(slow, length);
    EXPECT_EQ(slow.data, reduce(algorithm(), nodes(), length).data);
  }
}

TEST_P(AllReduceOf, MayBeginLongBeforeItIsCompletedAndOverlapOthers) {
  constexpr int kBuckets = 3;
  const std::size_t length = 1000;
  const Result whole = reduce(algorithm(), nodes(), length);
  for (const bool slow : {false, true})
    run_nodes(
        nodes(),
        [&](TestNode& node) {
          std::vector<Channel> channels;
          std::vector<std::vector<float>> data;
          for (int k = 0; k < kBuckets; ++k) {
            channels.push_back(
                {*node.endpoint, node.pool, node.timeout, Tag{10 + static_cast<std::uint64_t>(k)}});
            data.push_back(data_of(node.me(), length));
          }
          for (std::size_t k = 0; k < kBuckets; ++k) begin_all_reduce(channels[k], data[k], algorithm());
          std::vector<PendingAllReduce> begun;
          for (std::size_t k = 0; k < kBuckets; ++k) begun.push_back({channels[k], data[k]});
          if (algorithm() != automatic)
            complete_all_reduces(begun, algorithm());
          else  // which the strategies' own sums have replaced by their table's choice
            for (std::size_t k = 0; k < kBuckets; ++k) complete_all_reduce(channels[k], data[k], algorithm());
          for (std::size_t k = 0; k < kBuckets; ++k) EXPECT_EQ(data[k], whole.data.front());
        },
        slow ? slow_network() : testing::Network{});
}

TEST_P(AllReduceOf, ALostPeerIsAnErrorOnEveryNode) {
  if (nodes() == 1) return;
  ThreadsCluster cluster(nodes());
  std::vector<std::unique_ptr<TestNode>> all;
  for (int i = 0; i < nodes(); ++i) all.push_back(std::make_unique<TestNode>(cluster.endpoint(NodeId{i})));
  std::vector<int> lost(static_cast<std::size_t>(nodes()));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < nodes(); ++i)
      threads.emplace_back([&, i] {
        // The first node leaves while the others wait for it; a node that gives up leaves too, as
        // in a run.
        const std::unique_ptr<TestNode> node = std::move(all[static_cast<std::size_t>(i)]);
        std::vector<float> data = data_of(i, 5000);
        all_reduce(node->channel, data, algorithm());
        if (i == 0) return;
        try {
          all_reduce(node->channel, data, algorithm());
        } catch (const PeerLost&) {
          lost[static_cast<std::size_t>(i)] = 1;
        }
      });
  }
  for (int i = 1; i < nodes(); ++i) EXPECT_TRUE(lost[static_cast<std::size_t>(i)]) << "node " << i;
}

INSTANTIATE_TEST_SUITE_P(Nodes, AllReduceOf,
                         ::testing::Combine(::testing::ValuesIn(kAll),
                                            ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16)),
                         [](const auto& info) {
                           return test_name(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

using Counts = std::vector<std::uint64_t>;
Counts floats_sent(AllReduceAlgorithm algorithm, int nodes, std::size_t length) {
  const Counts quiet = reduce(algorithm, nodes, length).floats_sent;
  EXPECT_EQ(reduce(algorithm, nodes, length, slow_network()).floats_sent, quiet);
  return quiet;
}

// Floats sent per node follow from the algorithm: docs/oracles.md counts them.
TEST(AllReduceBytes, AreWhatTheAlgorithmsMustSend) {
  EXPECT_EQ(floats_sent(ring, 4, 10), (Counts{15, 16, 15, 14}));
  EXPECT_EQ(floats_sent(ring, 3, 7), (Counts{10, 9, 9}));
  EXPECT_EQ(floats_sent(ring, 6, 269722), (Counts{449536, 449536, 449537, 449538, 449537, 449536}));
  EXPECT_EQ(floats_sent(tree, 8, 100), (Counts{300, 100, 200, 100, 300, 100, 200, 100}));
  for (const int n : {2, 4, 8, 16}) {
    const auto nodes = static_cast<std::size_t>(n);
    for (const AllReduceAlgorithm algorithm : {ring, halving_doubling, native})
      EXPECT_EQ(floats_sent(algorithm, n, nodes * 10), Counts(nodes, 2 * (nodes - 1) * 10))
          << name_of(algorithm);
    EXPECT_EQ(floats_sent(all_to_all, n, 10), Counts(nodes, (nodes - 1) * 10));
  }
}

// Folding: nodes beyond the power of two send everything once; their partners send everything back.
TEST(AllReduceBytes, OfHalvingAndDoublingWithOtherNumbersOfNodes) {
  EXPECT_EQ(floats_sent(halving_doubling, 3, 100), (Counts{200, 100, 100}));
  EXPECT_EQ(floats_sent(halving_doubling, 6, 100), (Counts{250, 250, 150, 150, 100, 100}));
}

TEST(EngineAllReduce, ASilentNodeIsNamedWhenTheDeadlinePasses) {
  ThreadsCluster cluster(3);
  const auto a = cluster.endpoint(NodeId{0});
  const auto b = cluster.endpoint(NodeId{1});
  const auto c = cluster.endpoint(NodeId{2});
  std::vector<float> data(10, 1);
  auto outcome = a->collectives()->all_reduce(Tag{1}, data, a->now() + Time(0.01));
  EXPECT_EQ(outcome.outcome, Received::Outcome::timed_out);
  EXPECT_EQ(outcome.missing, NodeId{1});
  EXPECT_EQ(data, std::vector<float>(10, 1));
  // After leaving, it may take part again successfully.
  std::vector<float> second(10, 2);
  std::vector<float> third(10, 3);
  std::jthread other([&] { b->collectives()->all_reduce(Tag{1}, second, b->now() + Time(20)); });
  std::jthread another([&] { c->collectives()->all_reduce(Tag{1}, third, c->now() + Time(20)); });
  outcome = a->collectives()->all_reduce(Tag{1}, data, a->now() + Time(20));
  EXPECT_EQ(outcome.outcome, Received::Outcome::message);
  EXPECT_EQ(data, std::vector<float>(10, 6));
}

TEST(EngineAllReduce, ADecoratedEndpointHasNone) {
  ThreadsCluster cluster(1);
  EXPECT_EQ(make_faulty(cluster.endpoint(NodeId{0}), {})->collectives(), nullptr);
}

TEST(EngineAllReduce, ManyShortOnesInARow) {
  run_nodes(4, [](TestNode& node) {
    for (int i = 0; i < 2000; ++i) {
      std::vector<float> data(static_cast<std::size_t>(i % 7), static_cast<float>(node.me()));
      all_reduce(node.channel, data, native);
      ASSERT_EQ(data, std::vector<float>(data.size(), 6));
    }
  });
}

TEST(AllReduceTable, ChoosesTheNearestRow) {
  const AllReduceTable table({{2, 1000, ring}, {2, 100000, tree}, {8, 1000, native}});
  EXPECT_EQ(table.choose(2, 0), ring);
  EXPECT_EQ(table.choose(3, 20000), tree);
  EXPECT_EQ(table.choose(1, 1 << 30), tree);
  EXPECT_EQ(table.choose(100, 1 << 30), native);
}

TEST(AllReduceTable, IsReadAsItWasWritten) {
  const std::string file = ::testing::TempDir() + "allreduce_table_test.toml";
  AllReduceTable({{2, 1000, halving_doubling}, {8, 1000, all_to_all}}).write(file);
  const AllReduceTable table = AllReduceTable::read(file);
  EXPECT_EQ(table.choose(2, 1), halving_doubling);
  EXPECT_EQ(table.choose(8, 1), all_to_all);
  for (const char* text : {"", "[[entry]]\nnodes = 2", "entry = [1]", "not toml",
                           "[[entry]]\nnodes = 2\nbytes = 1\nalgorithm = \"rong\""}) {
    std::ofstream(file) << text;
    EXPECT_THROW(AllReduceTable::read(file), RequestError) << text;
  }
  EXPECT_THROW(AllReduceTable::read(file + ".missing"), RequestError);
}

TEST(AllReduceNames, ReadBack) {
  for (const AllReduceAlgorithm algorithm : kAll) EXPECT_EQ(all_reduce_named(name_of(algorithm)), algorithm);
  EXPECT_EQ(name_of(automatic), "auto");
  EXPECT_THROW(all_reduce_named("rign"), RequestError);
}

}  // namespace
}  // namespace veche
