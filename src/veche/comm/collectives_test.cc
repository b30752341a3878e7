#include "veche/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>

#include "tests/support/nodes.h"
#include "veche/comm/allreduce/allreduce.h"
#include "veche/comm/faulty/faulty.h"
#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

using testing::run_nodes;
using testing::TestNode;

// Every number of nodes, with and without network delays.
struct Setting {
  int nodes;
  bool faulty;
};

class Collectives : public ::testing::TestWithParam<Setting> {
 protected:
  int nodes() const { return GetParam().nodes; }
  void run(const std::function<void(TestNode&)>& body) const {
    const FaultPlan slow{.delay_probability = 0.2, .longest_delay = Time(0.002)};
    run_nodes(nodes(), body,
              GetParam().faulty ? [slow](auto inner) { return make_faulty(std::move(inner), slow); }
                                : testing::Network{});
  }
};

TEST_P(Collectives, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> arrived = 0;
  run([&](TestNode& node) {
    for (int round = 1; round <= 5; ++round) {
      ++arrived;
      barrier(node.channel);
      EXPECT_GE(arrived, round * nodes());
      barrier(node.channel);
    }
  });
}

TEST_P(Collectives, BroadcastGivesEverybodyTheRootsData) {
  run([&](TestNode& node) {
    for (int root = 0; root < nodes(); ++root) {
      std::vector<float> data(10, static_cast<float>(node.me()));
      broadcast(node.channel, NodeId{root}, data);
      EXPECT_EQ(data, std::vector<float>(10, static_cast<float>(root)));
    }
  });
}

TEST_P(Collectives, AllGatherOrdersItemsByNode) {
  run([&](TestNode& node) {
    const std::vector<float> mine(static_cast<std::size_t>(node.me()), 1.0F);  // sizes differ
    const auto all = all_gather(node.channel, node.pool.copy_of(std::span<const float>(mine)));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(nodes()));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].as<float>().size(), i);
  });
}

TEST_P(Collectives, AllReduceSumsToTheSameBitsEverywhere) {
  const auto n = static_cast<std::size_t>(nodes());
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, n - 1, n, n + 1, std::size_t{10007}}) {
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    run([&](TestNode& node) {
      std::vector<float> data(length);
      for (std::size_t i = 0; i < length; ++i)
        data[i] = static_cast<float>(node.me() + 1) * 0.1F + static_cast<float>(i % 13);
      all_reduce(node.channel, data);
      const std::lock_guard lock(mutex);
      results.push_back(std::move(data));
    });
    for (const auto& result : results) ASSERT_EQ(result, results.front());
    for (std::size_t i = 0; i < length; ++i)
      ASSERT_NEAR(results.front()[i],
                  0.1 * static_cast<double>(n * (n + 1)) / 2 + static_cast<double>(n * (i % 13)), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, Collectives,
                         ::testing::Values(Setting{1, false}, Setting{2, false}, Setting{3, false},
                                           Setting{4, false}, Setting{5, false}, Setting{7, false},
                                           Setting{8, false}, Setting{16, false}, Setting{2, true},
                                           Setting{5, true}, Setting{8, true}),
                         [](const auto& info) {
                           return std::to_string(info.param.nodes) + (info.param.faulty ? "slow" : "");
                         });

// Floats sent per node. On a ring, node i sends every part but i+1, then every part but i+2:
// docs/oracles.md.
void expect_floats_sent(std::size_t length, const std::vector<std::uint64_t>& expected) {
  std::vector<std::uint64_t> sent(expected.size());
  run_nodes(static_cast<int>(expected.size()), [&](TestNode& node) {
    std::vector<float> data(length);
    all_reduce(node.channel, data);
    sent[static_cast<std::size_t>(node.me())] = node.endpoint->sent().bytes / sizeof(float);
    EXPECT_EQ(node.channel.sent().bytes, node.endpoint->sent().bytes);
  });
  EXPECT_EQ(sent, expected);
}

TEST(AllReduce, SendsWhatTheRingMustAndNoMore) {
  expect_floats_sent(10, {15, 16, 15, 14});
  expect_floats_sent(7, {10, 9, 9});
  expect_floats_sent(269722, {449536, 449536, 449537, 449538, 449537, 449536});
}

TEST(AllReduce, LosingAPeerIsAnErrorThatNamesIt) {
  ThreadsCluster cluster(2);
  testing::TestNode alive(cluster.endpoint(NodeId{0}));
  cluster.endpoint(NodeId{1}).reset();
  std::vector<float> data(10);
  try {
    all_reduce(alive.channel, data);
    FAIL() << "nobody answered";
  } catch (const PeerLost& lost) {
    EXPECT_EQ(lost.peer(), NodeId{1});
  }
}

TEST(Channel, TimeoutGrowsWithWhatWasMeasured) {
  AdaptiveTimeout timeout(Time(1));
  EXPECT_EQ(timeout.limit(), Time(1));
  timeout.note(Time(10));
  EXPECT_EQ(timeout.limit(), Time(200));
}

TEST(Channel, ASilentPeerIsNamedAfterTheTimeout) {
  ThreadsCluster cluster(2);
  const auto silent = cluster.endpoint(NodeId{1});
  const auto endpoint = cluster.endpoint(NodeId{0});
  MessagePool pool;
  AdaptiveTimeout timeout(Time(0.01));
  Channel channel{*endpoint, pool, timeout, Tag{1}};
  EXPECT_THROW(channel.expect(NodeId{1}), PeerLost);
}

// Node 1 sends a wrong number of bytes; node 0 runs `work`. Returns the sentence it ends with.
std::string sentence_after(std::size_t bytes, const std::function<void(Channel&)>& work) {
  ThreadsCluster cluster(2);
  const auto peer = cluster.endpoint(NodeId{1});
  const auto endpoint = cluster.endpoint(NodeId{0});
  MessagePool pool;
  AdaptiveTimeout timeout(Time(20));
  Channel channel{*endpoint, pool, timeout, Tag{1}};
  peer->send(NodeId{0}, Tag{1}, pool.make(bytes));
  try {
    work(channel);
  } catch (const BadMessage& error) {
    EXPECT_EQ(error.peer(), NodeId{1});
    return error.what();
  }
  return "";
}

TEST(Channel, MessagesOfAnotherSizeNameThePeer) {
  std::vector<float> data(10);
  for (const std::size_t bytes : {0, 3, 36, 39, 44, 4000}) {
    const std::string sent = "node 1 sent " + std::to_string(bytes) + " bytes where ";
    EXPECT_EQ(sentence_after(bytes, [](Channel& channel) { channel.expect(NodeId{1}, 40); }),
              sent + "a message of 40 bytes was expected");
    EXPECT_EQ(sentence_after(bytes, [&](Channel& channel) { broadcast(channel, NodeId{1}, data); }),
              sent + "a message of 40 bytes was expected");
    EXPECT_EQ(
        sentence_after(bytes, [&](Channel& channel) { all_reduce(channel, data, AllReduceAlgorithm::tree); }),
        sent + "part of a vector of 40 bytes was expected");
    EXPECT_EQ(
        sentence_after(bytes,
                       [&](Channel& channel) { all_reduce(channel, data, AllReduceAlgorithm::all_to_all); }),
        sent + "part of a vector of 40 bytes was expected");
  }
}

TEST(Packed, HoldsAStructBeforeOrAfterItsPayload) {
  struct Head {
    std::uint64_t step = 0;
    std::uint32_t kind = 0;
  };
  MessagePool pool;
  const std::vector<float> floats{1, 2, 3};
  const Message first = pack(pool, Head{7, 2}, std::as_bytes(std::span(floats)));
  EXPECT_EQ(first.size(), sizeof(Head) + 12);
  const auto unpacked = unpack<Head>(first, NodeId{1}, "a head");
  EXPECT_EQ(unpacked.fields.step, 7U);
  EXPECT_TRUE(std::ranges::equal(unpacked.payload, std::as_bytes(std::span(floats))));
  const Message last = pack_with_trailer(pool, std::as_bytes(std::span(floats)), Head{8, 3});
  EXPECT_EQ(last.first(12).as<float>()[2], 3);
  EXPECT_EQ(unpack_with_trailer<Head>(last, NodeId{1}, "a tail").fields.step, 8U);
  EXPECT_THROW(unpack<Head>(pool.make(sizeof(Head) - 1), NodeId{1}, "a head"), BadMessage);
  EXPECT_THROW(unpack_with_trailer<Head>(pool.make(0), NodeId{1}, "a tail"), BadMessage);
  EXPECT_THROW(unpack_item<Head>(pool.make(sizeof(Head) + 1), NodeId{1}, "a head"), BadMessage);
  EXPECT_THROW(pool.make(7).as<float>(), RunError);
}

// A process that is suspended while it waits, and its peer with it.
class StoppedOnce : public Endpoint {
 public:
  StoppedOnce(Endpoint& inner, std::function<void()> then)
      : Endpoint(inner), inner_(inner), then_(std::move(then)) {}

  void send(NodeId to, Tag tag, Message message) override { inner_.send(to, tag, std::move(message)); }
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    if (slept_ > Time(0)) return inner_.receive(from, tag, deadline - slept_);
    slept_ = Time(1000);
    then_();
    return {Received::Outcome::timed_out, *from, {}};
  }
  Time now() const override { return inner_.now() + slept_; }
  bool alive(NodeId peer) const override { return inner_.alive(peer); }
  void spawn(std::function<void()> helper) override { inner_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return inner_.compute(what, work);
  }

 private:
  Endpoint& inner_;
  std::function<void()> then_;
  Time slept_{0};
};

TEST(Channel, WhoWasStoppedItselfWaitsAnew) {
  ThreadsCluster cluster(2);
  const auto peer = cluster.endpoint(NodeId{1});
  const auto endpoint = cluster.endpoint(NodeId{0});
  MessagePool pool;
  AdaptiveTimeout timeout(Time(10));
  StoppedOnce stopped(*endpoint, [&] { peer->send(NodeId{0}, Tag{1}, pool.make(4)); });
  Channel channel{stopped, pool, timeout, Tag{1}};
  EXPECT_EQ(channel.expect(NodeId{1}).size(), 4U);
}

}  // namespace
}  // namespace veche
