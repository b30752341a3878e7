#include "veche/comm/threads/threads.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "tests/support/nodes.h"
#include "veche/comm/counted.h"
#include "veche/comm/faulty/faulty.h"

namespace veche {
namespace {

Message number(MessagePool& pool, std::uint64_t value) { return pool.copy_of_item(value); }
std::uint64_t number(const Message& message) { return message.as<std::uint64_t>().front(); }

TEST(Threads, MessagesOfOneSenderAndTagKeepTheirOrder) {
  constexpr std::uint64_t kCount = 5000;
  testing::run_nodes(3, [](testing::TestNode& node) {
    if (node.me() != 0) {
      for (std::uint64_t k = 0; k < kCount; ++k) node.channel.send(NodeId{0}, number(node.pool, k));
      return;
    }
    for (std::uint64_t k = 0; k < kCount; ++k)
      for (int from = 1; from < 3; ++from) ASSERT_EQ(number(node.channel.expect(NodeId{from})), k);
  });
}

TEST(Threads, TagsAreSeparateConversations) {
  ThreadsCluster cluster(2);
  const auto a = cluster.endpoint(NodeId{0});
  const auto b = cluster.endpoint(NodeId{1});
  MessagePool pool;
  a->send(NodeId{1}, Tag{5}, number(pool, 50));
  a->send(NodeId{1}, Tag{6}, number(pool, 60));
  EXPECT_EQ(number(b->receive(NodeId{0}, Tag{6}, Time(10)).message), 60U);
  EXPECT_EQ(number(b->receive({}, Tag{5}, Time(10)).message), 50U);
}

TEST(Threads, AMessageIsAPointer) {
  ThreadsCluster cluster(2);
  const auto a = cluster.endpoint(NodeId{0});
  const auto b = cluster.endpoint(NodeId{1});
  MessagePool pool;
  const Message sent = pool.make(1 << 20);
  a->send(NodeId{1}, Tag{1}, sent);
  EXPECT_EQ(b->receive(NodeId{0}, Tag{1}, Time(10)).message.bytes().data(), sent.bytes().data());
  EXPECT_EQ(a->sent().bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(a->sent().messages, 1U);
}

TEST(Threads, BytesAreCountedByPeer) {
  ThreadsCluster cluster(3);
  const auto a = cluster.endpoint(NodeId{0});
  const auto b = cluster.endpoint(NodeId{1});
  CountedEndpoint counted(*a);
  MessagePool pool;
  for (const int to : {2, 1, 2, 0}) counted.send(NodeId{to}, Tag{1}, pool.make(100));
  const BytesByPeer told = counted.by_peer();
  EXPECT_EQ(told[0].peer, 2);
  EXPECT_EQ(told[0].bytes, 200.0F);
  EXPECT_EQ(told[1].peer, 1);
  EXPECT_EQ(told[1].bytes, 100.0F);
  EXPECT_EQ(told[2].bytes, 0.0F) << "what goes to oneself is no traffic";
  EXPECT_EQ(b->receive(NodeId{0}, Tag{1}, Time(10)).message.size(), 100U) << "it is passed on";
  EXPECT_EQ(counted.collectives(), a->collectives());
}

TEST(Threads, OfVeryManyPeersTheFirstAreTold) {
  constexpr int kNodes = 2 * kPeersTold;
  ThreadsCluster cluster(kNodes);
  const auto a = cluster.endpoint(NodeId{0});
  CountedEndpoint counted(*a);
  MessagePool pool;
  for (int to = 1; to < kNodes; ++to) counted.send(NodeId{to}, Tag{1}, pool.make(8));
  const BytesByPeer told = counted.by_peer();
  EXPECT_EQ(told.back().peer, static_cast<int>(kPeersTold));
  EXPECT_EQ(told.back().bytes, 8.0F);
  EXPECT_EQ(a->sent().messages, static_cast<std::uint64_t>(kNodes - 1));
}

TEST(Threads, ADeadlinePasses) {
  ThreadsCluster cluster(2);
  const auto a = cluster.endpoint(NodeId{0});
  const auto b = cluster.endpoint(NodeId{1});
  EXPECT_EQ(a->receive(NodeId{1}, Tag{1}, a->now() + Time(0.01)).outcome, Received::Outcome::timed_out);
}

TEST(Threads, ALostPeerIsAValueAfterWhatItSent) {
  ThreadsCluster cluster(2);
  const auto a = cluster.endpoint(NodeId{0});
  auto b = cluster.endpoint(NodeId{1});
  MessagePool pool;
  b->send(NodeId{0}, Tag{1}, number(pool, 7));
  b.reset();
  EXPECT_FALSE(a->alive(NodeId{1}));
  EXPECT_EQ(a->receive(NodeId{1}, Tag{1}, Time(10)).outcome, Received::Outcome::message);
  EXPECT_EQ(a->receive(NodeId{1}, Tag{1}, Time(10)).outcome, Received::Outcome::peer_lost);
  a->send(NodeId{1}, Tag{1}, number(pool, 8));  // does nothing
  EXPECT_EQ(a->sent().messages, 0U);
}

TEST(Threads, LosingAPeerWakesThoseWhoWait) {
  ThreadsCluster cluster(2);
  const auto a = cluster.endpoint(NodeId{0});
  auto b = cluster.endpoint(NodeId{1});
  std::jthread waiter(
      [&] { EXPECT_EQ(a->receive(NodeId{1}, Tag{1}, Time(60)).outcome, Received::Outcome::peer_lost); });
  b.reset();
}

TEST(Threads, IdsOutOfRangeAreMisuse) {
  ThreadsCluster cluster(2);
  const auto a = cluster.endpoint(NodeId{0});
  EXPECT_THROW(a->send(NodeId{2}, Tag{1}, {}), std::out_of_range);
  EXPECT_THROW(a->receive(NodeId{-1}, Tag{1}, Time(1)), std::out_of_range);
}

TEST(Faulty, LosesTheSameMessagesForTheSameSeed) {
  const auto delivered = [](std::uint64_t seed) {
    ThreadsCluster cluster(2);
    const auto a = make_faulty(cluster.endpoint(NodeId{0}), {.seed = seed, .drop_probability = 0.3});
    const auto b = cluster.endpoint(NodeId{1});
    MessagePool pool;
    std::vector<std::uint64_t> arrived;
    for (std::uint64_t k = 0; k < 1000; ++k) {
      a->send(NodeId{1}, Tag{1}, number(pool, k));
      const Received received = b->receive(NodeId{0}, Tag{1}, Time(0));
      if (received.outcome == Received::Outcome::message) arrived.push_back(number(received.message));
    }
    return arrived;
  };
  const auto once = delivered(1);
  EXPECT_EQ(once, delivered(1));
  EXPECT_NE(once, delivered(2));
  EXPECT_NEAR(static_cast<double>(once.size()), 700, 60);
}

TEST(Faulty, MixesUpConversationsButNotOneOfThem) {
  ThreadsCluster cluster(2);
  const auto a = make_faulty(cluster.endpoint(NodeId{0}), {.overtake_probability = 0.5});
  const auto b = cluster.endpoint(NodeId{1});
  MessagePool pool;
  int overtaken = 0;
  for (int k = 0; k < 100; ++k) {
    for (const std::uint64_t tag : {1, 2, 1}) a->send(NodeId{1}, Tag{tag}, pool.copy_of_item(tag));
    const bool second = b->receive(NodeId{0}, Tag{2}, b->now()).outcome == Received::Outcome::message;
    int first = 0;
    const auto take = [&] {
      while (b->receive(NodeId{0}, Tag{1}, b->now()).outcome == Received::Outcome::message) ++first;
    };
    take();
    overtaken += second && first < 2 ? 1 : 0;
    a->receive(NodeId{1}, Tag{3}, a->now());  // everything is sent before it waits
    take();
    EXPECT_EQ(first, 2);
    EXPECT_TRUE(second || b->receive(NodeId{0}, Tag{2}, b->now()).outcome == Received::Outcome::message);
  }
  EXPECT_GT(overtaken, 0);
}

TEST(Faulty, AHelperDoesNotTakeWhatTheNodeHasToSend) {
  ThreadsCluster cluster(2);
  const auto a = make_faulty(cluster.endpoint(NodeId{0}), {.overtake_probability = 1});
  const auto b = cluster.endpoint(NodeId{1});
  MessagePool pool;
  a->send(NodeId{1}, Tag{1}, number(pool, 0));  // held
  std::jthread([&] {
    a->flush();
    a->send(NodeId{1}, Tag{2}, number(pool, 1));
    a->receive(NodeId{1}, Tag{3}, a->now());
  }).join();
  EXPECT_EQ(b->receive(NodeId{0}, Tag{2}, Time(10)).outcome, Received::Outcome::message);
  EXPECT_EQ(b->receive(NodeId{0}, Tag{1}, b->now()).outcome, Received::Outcome::timed_out);
  a->flush();
  EXPECT_EQ(b->receive(NodeId{0}, Tag{1}, Time(10)).outcome, Received::Outcome::message);
}

TEST(Faulty, DiesOnScheduleAndIsLostToTheOthers) {
  ThreadsCluster cluster(2);
  auto a = make_faulty(cluster.endpoint(NodeId{0}), {.dies_after = 2});
  const auto b = cluster.endpoint(NodeId{1});
  MessagePool pool;
  a->send(NodeId{1}, Tag{1}, number(pool, 0));
  a->send(NodeId{1}, Tag{1}, number(pool, 1));
  EXPECT_THROW(a->send(NodeId{1}, Tag{1}, number(pool, 2)), NodeKilled);
  a.reset();
  for (int k = 0; k < 2; ++k)
    EXPECT_EQ(b->receive(NodeId{0}, Tag{1}, Time(10)).outcome, Received::Outcome::message);
  EXPECT_EQ(b->receive(NodeId{0}, Tag{1}, Time(10)).outcome, Received::Outcome::peer_lost);
}

}  // namespace
}  // namespace veche
