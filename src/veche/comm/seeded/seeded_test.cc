#include "veche/comm/seeded/seeded.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "veche/comm/sleep.h"
#include "veche/comm/tags.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr Tag kTag{12}, kOther{13};
constexpr auto kMessage = Received::Outcome::message;
constexpr auto kTimedOut = Received::Outcome::timed_out;
constexpr auto kLost = Received::Outcome::peer_lost;

using Body = std::function<void(Endpoint&)>;

void run(int nodes, const SeededOptions& options, const Body& body) {
  SeededCluster cluster(nodes, options);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId id : cluster.here()) endpoints.push_back(cluster.endpoint(id));
  cluster.run([&](NodeId id) { body(*endpoints[static_cast<std::size_t>(id.value)]); });
}

void run_seeds(int nodes, const Body& body) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) run(nodes, {.seed = seed}, body);
}

// The failure of the run.
std::string failure_of(int nodes, const SeededOptions& options, const Body& body) {
  try {
    run(nodes, options, body);
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

Message number(int value) { return MessagePool().copy_of_item(value); }
int number(const Message& message) { return message.as<int>().front(); }

TEST(Seeded, AWaitThatCannotEndIsNamed) {
  for (const Time deadline : {kForever, Time(120)}) {
    const std::string why = failure_of(2, {.seed = 17}, [&](Endpoint& node) {
      node.receive(NodeId{1 - node.id().value}, tags::strategy.child(3), deadline);
      node.send(NodeId{1 - node.id().value}, tags::strategy.child(3), {});
    });
    for (const char* part : {"seed 17: no node can continue", "node 0 waits for strategy.3 from node 1",
                             "node 1 waits for strategy.3 from node 0",
                             deadline == kForever ? "for ever" : "until 120.000000 s"})
      EXPECT_NE(why.find(part), std::string::npos) << part << " in: " << why;
  }
}

TEST(Seeded, AHelperThatIsWaitedForIsNamed) {
  const std::string why = failure_of(1, {}, [](Endpoint& node) {
    node.spawn([&] { node.receive({}, tags::to_coordinator, kForever); });
    node.receive(NodeId{0}, tags::from_coordinator, kForever);
  });
  EXPECT_NE(why.find("node 0 waits for from_coordinator from node 0, for ever"), std::string::npos) << why;
  EXPECT_NE(why.find("helper 1 of node 0 waits for to_coordinator from anyone"), std::string::npos) << why;
}

TEST(Seeded, ACauseThatLeavesOthersWaitingIsToldToo) {
  const std::string why = failure_of(3, {}, [](Endpoint& node) {
    if (node.id() == NodeId{2}) throw RunError("node 2 has burnt down");
    node.receive(NodeId{1 - node.id().value}, kTag, kForever);
  });
  EXPECT_NE(why.find("no node can continue"), std::string::npos) << why;
  EXPECT_NE(why.find("this came after: node 2 has burnt down"), std::string::npos) << why;
}

TEST(Seeded, ARunThatNeverEndsIsNamed) {
  const std::string why = failure_of(1, {.longest = Time(5)}, [](Endpoint& node) {
    for (;;) node.receive({}, kTag, node.now() + Time(0.5));
  });
  EXPECT_NE(why.find("does not end within 5 s: node 0 waits for tag 12 from anyone"), std::string::npos)
      << why;
}

// The actions of three nodes and a helper of each, in order, with their times.
std::vector<std::pair<std::string, double>> history(std::uint64_t seed) {
  std::vector<std::pair<std::string, double>> all;  // no lock: one task runs at a time
  run(3, {.seed = seed}, [&](Endpoint& node) {
    const auto note = [&](const std::string& what) {
      all.emplace_back(what + std::to_string(node.id().value), node.now().count());
    };
    node.spawn([&, note] {
      for (;;) {
        const Received received = node.receive({}, kTag, kForever);
        if (received.outcome == kMessage) note("heard by ");
      }
    });
    for (int k = 0; k < 5; ++k) {
      node.compute({}, [&] { note("computed by "); });
      for (int to = 0; to < 3; ++to) node.send(NodeId{to}, kTag, number(k));
      note("sent by ");
    }
  });
  return all;
}

TEST(Seeded, ASeedRepeatsItselfAndOthersDiffer) {
  std::map<std::vector<std::pair<std::string, double>>, int> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto once = history(seed);
    EXPECT_EQ(once, history(seed)) << seed;
    ++seen[once];
  }
  EXPECT_EQ(seen.size(), 20U);
}

// The thread sanitizer checks that the counter is never accessed concurrently.
TEST(Seeded, OneGoesAtATime) {
  int counter = 0;
  int busy = 0;
  run(4, {}, [&](Endpoint& node) {
    const auto count = [&] {
      for (int k = 0; k < 200; ++k) {
        EXPECT_EQ(++busy, 1);
        ++counter;
        --busy;
        node.send(node.id(), kTag, {});
        if (k % 10 == 0) node.compute({}, [&] { ++counter; });
      }
    };
    node.spawn([&, count] {
      count();
      node.send(node.id(), kOther, {});
    });
    count();
    node.receive(node.id(), kOther, kForever);
  });
  EXPECT_EQ(counter, 4 * 2 * 220);
}

TEST(Seeded, MessagesOfOneSenderAndTagKeepTheirOrder) {
  int tags_mixed = 0;
  int senders_mixed = 0;
  run_seeds(3, [&](Endpoint& node) {
    constexpr int kCount = 20;
    if (node.id() != NodeId{0}) {
      for (int k = 0; k < kCount; ++k) node.send(NodeId{0}, k % 2 == 0 ? kTag : kOther, number(k));
      return;
    }
    std::map<int, int> next{{1, 0}, {2, 0}};
    int last = 1;
    for (int k = 0; k < kCount; ++k) {
      const Received received = node.receive({}, kTag, kForever);
      if (received.outcome != kMessage) {
        --k;
        continue;
      }
      EXPECT_EQ(number(received.message), next[received.from.value]);
      next[received.from.value] += 2;
      senders_mixed += received.from.value < last ? 1 : 0;
      last = received.from.value;
      if (node.receive(received.from, kOther, node.now()).outcome == kTimedOut) ++tags_mixed;
    }
  });
  EXPECT_GT(tags_mixed, 0);
  EXPECT_GT(senders_mixed, 20);
}

TEST(Seeded, DeadlinesAreInVirtualTime) {
  run_seeds(2, [](Endpoint& node) {
    const Time start = node.now();
    EXPECT_EQ(node.now(), start);  // no other task runs meanwhile
    if (node.id() == NodeId{0}) {
      EXPECT_EQ(node.receive(NodeId{1}, kTag, start + Time(40)).outcome, kTimedOut);
      EXPECT_GE(node.now(), start + Time(40));
      EXPECT_LT(node.now(), start + Time(41));
      EXPECT_EQ(node.receive(NodeId{1}, kTag, node.now()).outcome, kTimedOut);
      EXPECT_LT(node.now(), start + Time(41));
      return;
    }
    Time least{0};
    for (int k = 0; k < 5; ++k) least += node.compute({}, [] {});
    EXPECT_GT(least, Time(0));
    EXPECT_GE(node.now(), start + least * (1 - 1e-9));  // up to rounding
    sleep_for(node, Time(50));
  });
}

TEST(Seeded, OneWhoPollsLetsOthersGo) {
  run_seeds(2, [](Endpoint& node) {
    if (node.id() == NodeId{1}) return sleep_for(node, Time(0.01)), node.send(NodeId{0}, kTag, {});
    while (node.receive(NodeId{1}, kTag, node.now()).outcome == kTimedOut) {
    }
  });
}

TEST(Seeded, ALostPeerIsAValueAfterWhatItSentAndOnceATag) {
  run_seeds(3, [](Endpoint& node) {
    if (node.id() == NodeId{2}) {
      for (const Tag tag : {kTag, kOther}) node.send(NodeId{0}, tag, number(7));
      return;
    }
    if (node.id() == NodeId{1}) return (void)node.receive(NodeId{0}, kTag, kForever);
    EXPECT_EQ(node.receive({}, kTag, kForever).outcome, kMessage);
    const Received lost = node.receive({}, kTag, kForever);
    EXPECT_EQ(lost.outcome, kLost);
    EXPECT_EQ(lost.from, NodeId{2});
    EXPECT_FALSE(node.alive(NodeId{2}));
    EXPECT_TRUE(node.alive(NodeId{1}));
    EXPECT_EQ(node.receive({}, kTag, node.now() + Time(1)).outcome, kTimedOut);  // already reported
    EXPECT_EQ(node.receive(NodeId{2}, kTag, kForever).outcome, kLost);           // every time it is asked
    EXPECT_EQ(node.receive(NodeId{2}, kOther, kForever).outcome, kMessage);
    EXPECT_EQ(node.receive({}, kOther, kForever).outcome, kLost);
    const std::uint64_t sent = node.sent().messages;
    node.send(NodeId{2}, kTag, {});  // does nothing
    EXPECT_EQ(node.sent().messages, sent);
  });
}

TEST(Seeded, AHelperEndsWithItsNode) {
  struct AtEnd {
    int& count;
    ~AtEnd() { ++count; }
  };
  int ended = 0;
  run(2, {}, [&](Endpoint& node) {
    if (node.id() == NodeId{1}) {
      EXPECT_EQ(node.receive(NodeId{0}, kTag, kForever).outcome, kLost);
      sleep_for(node, Time(1));
      EXPECT_EQ(ended, 3);  // while others continue
      return;
    }
    for (int k = 0; k < 3; ++k)
      node.spawn([&] {
        const AtEnd here{ended};
        for (;;) node.receive({}, kTag, kForever);
      });
    sleep_for(node, Time(1));
    EXPECT_EQ(ended, 0);
  });
}

TEST(Seeded, AHelperThatFailsEndsItsNodeWithTheCause) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    int lost = 0;
    EXPECT_EQ(failure_of(2, {.seed = seed},
                         [&](Endpoint& node) {
                           if (node.id() == NodeId{1}) {
                             if (node.receive(NodeId{0}, kTag, kForever).outcome == kLost) ++lost;
                             throw PeerLost(NodeId{0}, "is gone");
                           }
                           node.spawn([] { throw RunError("the helper has burnt down"); });
                           node.receive(NodeId{1}, kTag, kForever);
                           ADD_FAILURE() << "its wait should have thrown";
                         }),
              "the helper has burnt down");
    EXPECT_EQ(lost, 1);
  }
}

TEST(Seeded, AnEndedHelperLeavesItsNodeAlone) {
  run_seeds(1, [](Endpoint& node) {
    node.spawn([&] { node.send(NodeId{0}, kTag, {}); });
    EXPECT_EQ(node.receive(NodeId{0}, kTag, kForever).outcome, kMessage);
    node.compute({}, [] {});
  });
}

TEST(Seeded, AMessageChangedAfterSendingIsFound) {
  EXPECT_THROW(run(2, {},
                   [](Endpoint& node) {
                     if (node.id() == NodeId{1}) return (void)node.receive(NodeId{0}, kTag, kForever);
                     Message message = number(1);
                     node.send(NodeId{1}, kTag, message);
                     message.writable<int>().front() = 2;
                     sleep_for(node, Time(1));
                   }),
               std::logic_error);
}

TEST(Seeded, OthersThreadsAndIdsOutOfRangeAreMisuse) {
  run(1, {}, [](Endpoint& node) {
    EXPECT_THROW(node.send(NodeId{1}, kTag, {}), std::out_of_range);
    EXPECT_THROW(node.receive(NodeId{-1}, kTag, Time(1)), std::out_of_range);
    std::thread([&] { EXPECT_THROW(node.receive({}, kTag, Time(1)), std::logic_error); }).join();
  });
  SeededCluster cluster(1, {});
  EXPECT_THROW(cluster.endpoint(NodeId{0})->receive({}, kTag, Time(1)), std::logic_error);
}

TEST(SeededDeathTest, AMutexHeldAcrossAWaitEndsTheProcessInWords) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hold = [] {
    std::mutex mutex;
    run(2, {.real_silence = std::chrono::duration<double>(0.5)}, [&](Endpoint& node) {
      const std::lock_guard lock(mutex);
      sleep_for(node, Time(1));
    });
  };
  EXPECT_DEATH(hold(), "node [01] made no call for.*a mutex.*node [01] waits for nobody");
}

}  // namespace
}  // namespace veche
