// The engine in virtual time: durations, reported losses, and host failures. Each test has its own
// process.
#include "veche/comm/sim/sim.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "tests/support/own_process.h"
#include "tests/support/temporary_folder.h"
#include "veche/comm/sleep.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr Tag kOther{20};  // not a conversation of a run, some of which cost nothing

// A star with links of 1 MB/s and 10 ms, without cross-traffic; each node does 1000 operations per
// second.
SimNetwork star(int nodes) {
  SimNetwork network;
  network.lv08 = false;
  network.crosstraffic = false;
  network.speed.assign(static_cast<std::size_t>(nodes), 1000);
  network.sites = {{std::vector<SimLink>(static_cast<std::size_t>(nodes), SimLink{1e6, 0.01}), false, {}}};
  return network;
}

// Runs nodes with endpoints that outlive them, as in training; returns the failure.
std::string run(const SimNetwork& network, int nodes, const std::function<void(Endpoint&)>& body) {
  return testing::in_own_process([&]() -> std::string {
    const std::unique_ptr<Cluster> cluster = make_sim_cluster(nodes, network);
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    for (int i = 0; i < nodes; ++i) endpoints.push_back(cluster->endpoint(NodeId{i}));
    try {
      cluster->run([&](NodeId id) { body(*endpoints[static_cast<std::size_t>(id.value)]); });
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  });
}

Message bytes(std::size_t count) { return MessagePool().make(count); }

// SimGrid's documented example: one message of 100 kB over a shared link of 1 Mbit/s and 10 ms.
double one_message(const char* model, const char* crosstraffic) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "two.xml").string();
  std::ofstream(file) << R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<host id="host0" speed="1Gf"/><host id="host1" speed="1Gf"/>
<link id="l" bandwidth="125kBps" latency="10ms" sharing_policy="SHARED"/>
<route src="host0" dst="host1"><link_ctn id="l"/></route></zone></platform>)";
  SimNetwork network;
  network.platform = file;
  network.lv08 = std::string(model) == "LV08";
  network.crosstraffic = std::string(crosstraffic) == "on";
  double seconds = 0;
  const std::string told = testing::in_own_process([&] {
    const std::unique_ptr<Cluster> cluster = make_sim_cluster(2, network);
    const std::unique_ptr<Endpoint> ends[] = {cluster->endpoint(NodeId{0}), cluster->endpoint(NodeId{1})};
    cluster->run([&](NodeId id) {
      if (id.value == 0) return ends[0]->send(NodeId{1}, Tag{1}, bytes(100'000));
      EXPECT_EQ(ends[1]->receive(NodeId{0}, Tag{1}, kForever).outcome, Received::Outcome::message);
      seconds = ends[1]->now().count();
    });
    return std::to_string(seconds * 1e9);
  });
  return std::stod(told) / 1e9;
}

TEST(Sim, AMessageTakesWhatSimGridsModelsSay) {
  EXPECT_NEAR(one_message("CM02", "off"), 0.81, 1e-9);
  EXPECT_NEAR(one_message("CM02", "on"), 0.85, 1e-9);
  EXPECT_NEAR(one_message("LV08", "off"), 0.954842268, 1e-9);
  EXPECT_NEAR(one_message("LV08", "on"), 0.996079381, 1e-9);
}

// As code of an interpreter needs it, which knows its threads. Times are the same.
TEST(Sim, NodesAndHelpersMayHaveThreads) {
  for (const bool threads : {false, true}) {
    SimNetwork network = star(3);
    network.threads = threads;
    std::set<std::thread::id> seen;  // one actor runs at a time
    EXPECT_EQ(run(network, 3,
                  [&](Endpoint& me) {
                    seen.insert(std::this_thread::get_id());
                    const int next = (me.id().value + 1) % 3;
                    me.spawn([&] { seen.insert(std::this_thread::get_id()); });
                    me.send(NodeId{next}, Tag{1}, bytes(100'000));
                    me.receive(NodeId{(me.id().value + 2) % 3}, Tag{1}, kForever);
                    EXPECT_NEAR(me.now().count(), 0.12, 1e-9);  // 0.1 s of the link's and 20 ms of latency
                    me.send(NodeId{next}, Tag{1}, bytes(10));
                    me.receive({}, Tag{1}, kForever);
                    EXPECT_EQ(seen.size(), threads ? 6U : 1U);
                  }),
              "");
  }
}

TEST(Sim, MessagesOfOneTagArriveInTheOrderOfSending) {
  EXPECT_EQ(run(star(2), 2,
                [](Endpoint& me) {
                  if (me.id().value == 0) {
                    me.send(NodeId{1}, Tag{1}, bytes(1'000'000));
                    me.send(NodeId{1}, Tag{1}, bytes(10));
                    me.send(NodeId{1}, kOther, bytes(20));
                    return;
                  }
                  EXPECT_EQ(me.receive(NodeId{0}, kOther, kForever).message.size(), 20U);
                  EXPECT_LT(me.now(), Time(0.1));
                  EXPECT_EQ(me.receive({}, Tag{1}, kForever).message.size(), 1'000'000U);
                  EXPECT_EQ(me.receive({}, Tag{1}, me.now()).message.size(), 10U);
                }),
            "");
}

// The second message does not delay the first.
TEST(Sim, LargeMessagesToOnePeerFollowEachOther) {
  EXPECT_EQ(run(star(3), 3,
                [](Endpoint& me) {
                  if (me.id().value == 0) {
                    me.send(NodeId{1}, Tag{1}, bytes(500'000));
                    me.send(NodeId{1}, kOther, bytes(500'000));
                    return;
                  }
                  if (me.id().value == 2) return;
                  me.receive(NodeId{0}, Tag{1}, kForever);
                  EXPECT_NEAR(me.now().count(), 0.52, 1e-9);
                  me.receive(NodeId{0}, kOther, kForever);
                  EXPECT_NEAR(me.now().count(), 1.04, 1e-9);
                }),
            "");
}

// Each takes its share of the link in turn, and together they take the time of their bytes. If all
// moved at once, this would take minutes: SimGrid updates everything in motion whenever something
// ends.
TEST(Sim, ManySmallMessagesAreCheapAndTakeWhatTheirBytesTake) {
  constexpr int kEach = 3000;
  const auto size = [](int i) { return static_cast<std::size_t>(1000 + i * 37 % 101); };
  EXPECT_EQ(run(star(4), 4,
                [&](Endpoint& me) {
                  const int mine = me.id().value;
                  double all = 0;
                  for (int i = 0; i < kEach; ++i) {
                    all += static_cast<double>(size(i));
                    for (int to = 0; to < 4; ++to)
                      if (to != mine) me.send(NodeId{to}, Tag{1}, bytes(size(i)));
                  }
                  for (int i = 0; i < kEach; ++i)
                    for (int from = 0; from < 4; ++from) {
                      if (from == mine) continue;
                      const Received received = me.receive(NodeId{from}, Tag{1}, kForever);
                      ASSERT_EQ(received.message.size(), size(i));
                    }
                  EXPECT_NEAR(me.now().count(), 3 * all / 1e6, 0.02 * 3 * all / 1e6);
                }),
            "");
}

TEST(Sim, WithoutDuplexTwoNodesSendInTurn) {
  for (const bool duplex : {true, false}) {
    SimNetwork network = star(2);
    network.duplex = duplex;
    EXPECT_EQ(run(network, 2,
                  [&](Endpoint& me) {
                    const int other = 1 - me.id().value;
                    me.send(NodeId{other}, Tag{1}, bytes(500'000));
                    me.receive(NodeId{other}, Tag{1}, kForever);
                    EXPECT_NEAR(me.now().count(), duplex || other == 0 ? 0.52 : 1.04, 1e-9);
                  }),
              "");
  }
}

TEST(Sim, DeadlinesAndSleepAreVirtual) {
  EXPECT_EQ(run(star(2), 2,
                [](Endpoint& me) {
                  sleep_for(me, Time(1e6));
                  EXPECT_DOUBLE_EQ(me.now().count(), 1e6);
                  EXPECT_EQ(me.receive(NodeId{1 - me.id().value}, Tag{1}, Time(2e6)).outcome,
                            me.id().value == 0 ? Received::Outcome::timed_out : Received::Outcome::peer_lost);
                }),
            "");
}

// A pass costs its operations; messages sent inside leave over its last two thirds.
TEST(Sim, PassesTakeTime) {
  EXPECT_EQ(run(star(2), 2,
                [](Endpoint& me) {
                  if (me.id().value == 0) {
                    const Time took = me.compute({.flops = 3000}, [&] {
                      me.send(NodeId{1}, Tag{1}, bytes(0));
                      me.send(NodeId{1}, kOther, bytes(0));
                    });
                    EXPECT_DOUBLE_EQ(took.count(), 3);
                    EXPECT_DOUBLE_EQ(me.now().count(), 3);
                    return;
                  }
                  me.receive(NodeId{0}, Tag{1}, kForever);
                  EXPECT_NEAR(me.now().count(), 2.02, 2e-6);
                  me.receive(NodeId{0}, kOther, kForever);
                  EXPECT_NEAR(me.now().count(), 3.02, 2e-6);
                }),
            "");
}

TEST(Sim, WhoWaitsInsideAPassHoldsNothingBack) {
  EXPECT_EQ(run(star(2), 2,
                [](Endpoint& me) {
                  const NodeId other{1 - me.id().value};
                  me.compute({}, [&] {
                    me.send(other, Tag{1}, bytes(4));
                    EXPECT_EQ(me.receive(other, Tag{1}, kForever).outcome, Received::Outcome::message);
                  });
                }),
            "");
}

TEST(Sim, AHelperThatFailsEndsItsNodeWithTheCause) {
  const std::string why = run(star(3), 3, [](Endpoint& me) {
    if (me.id().value == 1) me.spawn([] { throw RunError("the helper has broken"); });
    const Received received = me.receive(NodeId{(me.id().value + 1) % 3}, Tag{1}, kForever);
    EXPECT_EQ(received.outcome, Received::Outcome::peer_lost);
    throw PeerLost(received.from, "is gone");
  });
  EXPECT_EQ(why, "the helper has broken");
}

TEST(Sim, AHelperThatWaitsForEverIsEndedWithItsNode) {
  const std::string why = run(star(2), 2, [](Endpoint& me) {
    me.spawn([&me] {
      try {
        me.receive({}, Tag{1}, kForever);  // reports the peer's end,
        me.receive({}, Tag{1}, kForever);  // once
        ADD_FAILURE() << "nothing comes";
      } catch (const NodeEnded&) {
        throw;
      }
    });
    sleep_for(me, Time(me.id().value));
  });
  EXPECT_EQ(why, "");
}

TEST(Sim, WhoWaitsForAnyoneIsToldOfALossAfterWhatWasSent) {
  EXPECT_EQ(run(star(3), 3,
                [](Endpoint& me) {
                  if (me.id().value == 1) me.send(NodeId{0}, Tag{1}, bytes(1'000'000));
                  if (me.id().value != 0) return;
                  std::vector<int> lost;
                  int messages = 0;
                  while (lost.size() < 2) {
                    const Received received = me.receive({}, Tag{1}, kForever);
                    if (received.outcome == Received::Outcome::message) ++messages;
                    if (received.outcome != Received::Outcome::peer_lost) continue;
                    if (received.from == NodeId{1}) {
                      EXPECT_EQ(messages, 1);
                    }
                    lost.push_back(received.from.value);
                  }
                  EXPECT_EQ(me.receive({}, Tag{1}, me.now() + Time(1)).outcome, Received::Outcome::timed_out);
                  EXPECT_EQ(me.receive({}, kOther, kForever).outcome, Received::Outcome::peer_lost);
                }),
            "");
}

TEST(Sim, AWaitThatCannotEndIsASentence) {
  const std::string why = run(star(2), 2, [](Endpoint& me) {
    sleep_for(me, Time(2));
    me.receive(NodeId{1 - me.id().value}, Tag{1}, kForever);
  });
  EXPECT_EQ(
      why,
      "no node can continue, 2.000000 s after the start: node 0 waits for strategy from node 1; node 1 waits "
      "for strategy from node 0");
}

// Actors share a thread: each must find its own exception after a wait inside a handler.
TEST(Sim, ExceptionsOfActorsDoNotMix) {
  EXPECT_EQ(run(star(2), 2,
                [](Endpoint& me) {
                  const std::string mine = "of node " + std::to_string(me.id().value);
                  for (int i = 0; i < 3; ++i) try {
                      try {
                        throw RunError(mine);
                      } catch (const RunError&) {
                        sleep_for(me, Time(1 + 0.1 * me.id().value));
                        throw;
                      }
                    } catch (const RunError& error) {
                      EXPECT_EQ(error.what(), mine);
                    }
                }),
            "");
}

TEST(Sim, JitterDelaysAndRepeatsItself) {
  SimNetwork network = star(2);
  network.jitter = 0.5;
  const auto arrival = [&](std::uint64_t seed) {
    network.seed = seed;
    return run(network, 2, [](Endpoint& me) {
      if (me.id().value == 0) return me.send(NodeId{1}, Tag{1}, bytes(0));
      me.receive(NodeId{0}, Tag{1}, kForever);
      throw RunError(std::to_string(me.now().count()));
    });
  };
  const std::string once = arrival(1);
  EXPECT_EQ(arrival(1), once);
  EXPECT_NE(arrival(2), once);
  EXPECT_GE(std::stod(once), 0.02);
  EXPECT_LE(std::stod(once), 0.52);
}

// A host is down from 1 s to 4 s: its pass takes 3 s longer, and a message in transit starts over.
TEST(Sim, AHostThatIsAwayForAWhileRests) {
  SimNetwork network = star(3);
  network.losses = {{.node = 1, .at = 1, .length = 3}};
  EXPECT_EQ(run(network, 3,
                [](Endpoint& me) {
                  if (me.id().value == 0) {
                    sleep_for(me, Time(0.5));
                    me.send(NodeId{1}, Tag{1}, bytes(1'000'000));  // would take 1.02 s
                    EXPECT_TRUE(me.alive(NodeId{1}));
                    return;
                  }
                  if (me.id().value == 2) return;
                  me.compute({.flops = 2000}, [] {});
                  EXPECT_DOUBLE_EQ(me.now().count(), 5);
                  EXPECT_EQ(me.receive(NodeId{0}, Tag{1}, kForever).message.size(), 1'000'000U);
                  EXPECT_NEAR(me.now().count(), 5.02, 1e-9);
                }),
            "");
}

TEST(Sim, AHostThatIsGoneForGoodIsLost) {
  SimNetwork network = star(2);
  network.losses = {{.node = 1, .at = 1, .length = std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(run(network, 2,
                [](Endpoint& me) {
                  if (me.id().value == 1) {
                    me.send(NodeId{0}, Tag{1}, bytes(2'000'000));  // never arrives
                    me.compute({.flops = 1e6}, [] {});
                    ADD_FAILURE() << "it was gone";
                  }
                  EXPECT_EQ(me.receive(NodeId{1}, Tag{1}, kForever).outcome, Received::Outcome::peer_lost);
                  EXPECT_DOUBLE_EQ(me.now().count(), 1);
                  me.send(NodeId{1}, Tag{1}, bytes(10));
                }),
            "");
}

// Two hosts with a link of 1 MB/s and 10 ms between them, and the given traces.
SimNetwork two_hosts(const testing::TemporaryFolder& folder, const std::string& traces) {
  SimNetwork network;
  network.lv08 = false;
  network.crosstraffic = false;
  network.platform = (folder.path() / "two.xml").string();
  std::ofstream(network.platform) << R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">)" + traces.substr(0, traces.rfind("</trace>") + 8) +
                                         R"(<zone id="z" routing="Full">
<host id="host0" speed="1kf"/><host id="host1" speed="1kf"/>
<link id="l" bandwidth="1MBps" latency="10ms" sharing_policy="SPLITDUPLEX"/>
<route src="host0" dst="host1"><link_ctn id="l" direction="UP"/></route></zone>)" +
                                         traces.substr(traces.rfind("</trace>") + 8) + "</platform>";
  return network;
}

// Down from 0.5 s to 2 s, later with another bandwidth and latency: a message starts over at 2 s.
TEST(Sim, LinksOfAPlatformFailReturnAndChange) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(run(two_hosts(folder, R"(<trace id="state" periodicity="-1">
0.5 -1
2 1
</trace><trace id="half" periodicity="0">10 500000
</trace><trace id="far" periodicity="0">10 1</trace>
<trace_connect kind="LINK_AVAIL" trace="state" element="l"/>
<trace_connect kind="BANDWIDTH" trace="half" element="l"/>
<trace_connect kind="LATENCY" trace="far" element="l"/>)"),
                2,
                [](Endpoint& me) {
                  if (me.id().value == 0) {
                    me.send(NodeId{1}, Tag{1}, bytes(1'000'000));
                    sleep_for(me, Time(1));
                    me.send(NodeId{1}, kOther, bytes(10));  // while it is down
                    sleep_for(me, Time(19));
                    me.send(NodeId{1}, Tag{1}, bytes(1'000'000));
                    return;
                  }
                  me.receive(NodeId{0}, kOther, kForever);
                  EXPECT_NEAR(me.now().count(), 2.01, 1e-4);
                  me.receive(NodeId{0}, Tag{1}, kForever);
                  EXPECT_NEAR(me.now().count(), 3.01, 1e-4);
                  me.receive(NodeId{0}, Tag{1}, kForever);
                  EXPECT_NEAR(me.now().count(), 23, 1e-4);
                }),
            "");
}

// At half speed until 2 s, down until 3 s, at double speed from 4 s: 1 + 0 + 0.5 + 2.5 / 2.
TEST(Sim, HostsOfAPlatformSlowDownAndRest) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(run(two_hosts(folder, R"(<trace id="speed" periodicity="0">
0 0.5
4 2
</trace><trace id="state" periodicity="1000">
2 0
3 1
</trace><trace_connect kind="SPEED" trace="speed" element="host1"/>
<trace_connect kind="HOST_AVAIL" trace="state" element="host1"/>)"),
                2,
                [](Endpoint& me) {
                  if (me.id().value == 1) me.compute({.flops = 4000}, [] {});
                  EXPECT_DOUBLE_EQ(me.now().count(), me.id().value == 1 ? 5.25 : 0);
                }),
            "");
}

// A host that flaps for ever does not hide that a link never returns.
TEST(Sim, WhatRepeatsItselfForEverDoesNotHideAStandstill) {
  const testing::TemporaryFolder folder;
  const std::string why = run(two_hosts(folder, R"(<trace id="down" periodicity="0">1 0
</trace><trace id="flap" periodicity="10">
2 0
3 1
</trace><trace_connect kind="LINK_AVAIL" trace="down" element="l"/>
<trace_connect kind="HOST_AVAIL" trace="flap" element="host1"/>)"),
                              2, [](Endpoint& me) {
                                if (me.id().value == 0) {
                                  sleep_for(me, Time(1.5));
                                  me.send(NodeId{1}, Tag{1}, bytes(10));
                                }
                                me.receive(NodeId{1 - me.id().value}, Tag{1}, kForever);
                              });
  EXPECT_NE(why.find("no node can continue"), std::string::npos) << why;
  EXPECT_NE(why.find("link \"l\" failed at 1 s"), std::string::npos) << why;
}

TEST(Sim, SitesShareTheirUplink) {
  SimNetwork network = star(4);
  const std::vector<SimLink> two(2, SimLink{1e6, 0});
  network.sites = {{two, true, {1e6, 0}}, {two, true, {1e6, 0}}};
  EXPECT_EQ(run(network, 4,
                [](Endpoint& me) {
                  const int i = me.id().value;
                  if (i < 2) return me.send(NodeId{i + 2}, Tag{1}, bytes(1'000'000));
                  me.receive(NodeId{i - 2}, Tag{1}, kForever);
                  EXPECT_NEAR(me.now().count(), 2, 1e-6);
                }),
            "");
}

TEST(Sim, ShortVectorsCountAsLongOnes) {
  SimNetwork network = star(2);
  network.short_floats = 16;
  network.long_bytes = 1'000'000;
  EXPECT_EQ(run(network, 2,
                [](Endpoint& me) {
                  if (me.id().value == 0) {
                    me.send(NodeId{1}, Tag{1}, bytes(2 * 64 + 8));
                    EXPECT_EQ(me.sent().bytes, 2'000'008U);
                    return;
                  }
                  EXPECT_EQ(me.receive(NodeId{0}, Tag{1}, kForever).message.size(), 136U);
                  EXPECT_NEAR(me.now().count(), 2.020008, 1e-9);
                }),
            "");
}

TEST(Sim, AProcessSimulatesOnce) {
  testing::in_own_process([] {
    make_sim_cluster(2, star(2)).reset();  // never run
    EXPECT_THROW(make_sim_cluster(2, star(2)), RequestError);
    return std::string();
  });
}

TEST(Sim, WrongPlatformsAreSentences) {
  const testing::TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    const std::string file = (folder.path() / "p.xml").string();
    if (!text.empty()) std::ofstream(file) << text;
    return testing::in_own_process([&]() -> std::string {
      SimNetwork network;
      network.platform = text.empty() ? (folder.path() / "none.xml").string() : file;
      try {
        make_sim_cluster(3, network);
      } catch (const RequestError& error) {
        return error.what();
      }
      return "accepted";
    });
  };
  EXPECT_NE(refused("").find("No such file"), std::string::npos);
  EXPECT_NE(refused("<platform><zone").find("line 1: it is not XML"), std::string::npos);
  const std::string two = R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/></platform>)";
  EXPECT_NE(refused(two).find("has 2 hosts for 3 nodes"), std::string::npos) << refused(two);
}

}  // namespace
}  // namespace veche
