// Execution of nodes, helpers and passes by the threads engine. MPI's tests are in
// tests/mpi/conformance.cc; the seeded engine has its own.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/nodes.h"
#include "veche/comm/sleep.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::TestNode;

// Runs nodes with endpoints that outlive them, as in training; returns the failure.
std::string failure_of(int nodes, const std::function<void(Endpoint&)>& body, int slots = 0) {
  ThreadsCluster cluster(nodes, slots);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int i = 0; i < nodes; ++i) endpoints.push_back(cluster.endpoint(NodeId{i}));
  try {
    cluster.run([&](NodeId id) { body(*endpoints[static_cast<std::size_t>(id.value)]); });
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Execution, AHelperThatFailsEndsItsNodeWithTheCause) {
  std::atomic<int> lost = 0;
  const std::string why = failure_of(3, [&](Endpoint& endpoint) {
    if (endpoint.id().value == 1) endpoint.spawn([] { throw RunError("the helper has broken"); });
    // No node sends: each waits for the next, and node 1 for its own end.
    const NodeId next{(endpoint.id().value + 1) % 3};
    const Received received = endpoint.receive(next, Tag{1}, kForever);
    EXPECT_EQ(received.outcome, Received::Outcome::peer_lost);
    ++lost;
    throw PeerLost(received.from, "is gone");
  });
  EXPECT_EQ(why, "the helper has broken");
  EXPECT_EQ(lost, 2);
}

TEST(Execution, AHelperThatWaitsForEverIsJoinedWithItsNode) {
  std::atomic<int> ended = 0;
  const std::string why = failure_of(2, [&](Endpoint& endpoint) {
    endpoint.spawn([&] {
      try {
        endpoint.receive({}, Tag{1}, kForever);  // reports the peer's end,
        endpoint.receive({}, Tag{1}, kForever);  // once
      } catch (const NodeEnded&) {
        ++ended;
        throw;
      }
    });
  });
  EXPECT_EQ(why, "");
  EXPECT_EQ(ended, 2);
}

TEST(Execution, ACauseIsToldBeforeItsConsequences) {
  const std::string why = failure_of(4, [](Endpoint& endpoint) {
    if (endpoint.id().value == 3) throw RunError("node 3 has no more disk");
    const Received received = endpoint.receive(NodeId{3}, Tag{1}, kForever);
    throw PeerLost(received.from, "is gone");
  });
  EXPECT_EQ(why, "node 3 has no more disk");
}

TEST(Execution, WhoWaitsForAnyoneIsToldOfALossOnceATag) {
  MessagePool pool;
  const std::string why = failure_of(3, [&](Endpoint& endpoint) {
    if (endpoint.id().value == 1) endpoint.send(NodeId{0}, Tag{1}, pool.make(4));
    if (endpoint.id().value != 0) return;
    std::vector<int> lost;
    int messages = 0;
    while (lost.size() < 2) {
      const Received received = endpoint.receive({}, Tag{1}, kForever);
      if (received.outcome == Received::Outcome::message) ++messages;
      if (received.outcome != Received::Outcome::peer_lost) continue;
      if (received.from == NodeId{1}) {
        EXPECT_EQ(messages, 1);
      }
      lost.push_back(received.from.value);
    }
    EXPECT_EQ(endpoint.receive({}, Tag{1}, endpoint.now() + Time(0.01)).outcome,
              Received::Outcome::timed_out);
    EXPECT_EQ(endpoint.receive({}, Tag{2}, kForever).outcome, Received::Outcome::peer_lost);
  });
  EXPECT_EQ(why, "");
}

TEST(Execution, ASlotIsGivenBackAroundAWait) {
  MessagePool pool;
  const std::string why = failure_of(
      2,
      [&](Endpoint& endpoint) {
        const NodeId other{1 - endpoint.id().value};
        // There is one slot: both are inside only if each releases it while it waits.
        endpoint.compute({}, [&] {
          endpoint.send(other, Tag{1}, pool.make(4));
          EXPECT_EQ(endpoint.receive(other, Tag{1}, kForever).outcome, Received::Outcome::message);
        });
      },
      1);
  EXPECT_EQ(why, "");
}

TEST(Execution, OnlySoManyComputeAtATime) {
  std::atomic<int> inside = 0;
  const std::string why = failure_of(
      8,
      [&](Endpoint& endpoint) {
        for (std::uint64_t step = 0; step < 20; ++step)
          endpoint.compute({.step = step}, [&] {
            EXPECT_LE(++inside, 2);
            std::this_thread::yield();
            --inside;
          });
      },
      2);
  EXPECT_EQ(why, "");
}

TEST(Channels, ChildrenAreConversationsOfTheirOwnThatCountTogether) {
  testing::run_nodes(2, [](TestNode& node) {
    Channel first = node.channel.child(0);
    Channel second = node.channel.child(1);
    Channel inner = second.child(0);
    EXPECT_NE(first.tag, second.tag);
    EXPECT_NE(inner.tag, first.tag);
    const NodeId other{1 - node.me()};
    inner.send(other, node.pool.make(30));
    second.send(other, node.pool.make(20));
    first.send(other, node.pool.make(10));
    first.send(NodeId{node.me()}, node.pool.make(5));  // no traffic
    EXPECT_EQ(first.expect(other).size(), 10U);
    EXPECT_EQ(second.expect(other).size(), 20U);
    EXPECT_EQ(inner.expect(other).size(), 30U);
    EXPECT_EQ(node.channel.sent().bytes, 60U);
    EXPECT_EQ(inner.sent().messages, 3U);
  });
  EXPECT_THROW((void)Tag{1}.child(Tag::kChildren), std::logic_error);
  EXPECT_THROW((void)Tag{1}.child(0).child(0).child(0).child(0), std::logic_error);
}

}  // namespace
}  // namespace veche
