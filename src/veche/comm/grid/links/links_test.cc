#include "veche/comm/grid/links/links.h"

#include <gtest/gtest.h>

#include "tests/support/link_member.h"

namespace veche::grid {
namespace {

TEST(Links, MessagesOfAllSizesArriveWholeAndInOrder) {
  const TestRun run;
  TestMember a(run), b(run);
  link(a, b);
  const std::vector<std::size_t> sizes{0,         1, 16 * 1024 - 48, 16 * 1024, kPieceBytes, kPieceBytes + 1,
                                       5'000'000, 3};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    Message message = filled(a.links.pool(), sizes[k], k);
    const DataHead head{7, k, message.size(), 1, 2};
    a.links.send(b.id(), head, std::move(message));
    a.links.tell(b.id(), "word " + std::to_string(k));
  }
  a.links.send_ended(b.id(), {7, 0, 0, 1, 0});
  ASSERT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == sizes.size() + 1; }));
  const auto messages = b.seen().messages;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto& got = messages[k];
    EXPECT_EQ(got.head.tag, k);
    EXPECT_EQ(got.head.view, 7U);
    ASSERT_EQ(got.message.size(), sizes[k]);
    MessagePool pool;
    EXPECT_TRUE(std::ranges::equal(got.message.bytes(), filled(pool, sizes[k], k).bytes()));
  }
  EXPECT_TRUE(messages.back().ended);
  EXPECT_TRUE(b.wait([&](auto& seen) { return seen.words.size() == sizes.size(); }));
  EXPECT_TRUE(a.links.flush(Time(30)));
  EXPECT_EQ(a.seen().ups[b.id()], 1) << "one link, whoever dialled";
}

TEST(Links, QuestionsAreAnswered) {
  const TestRun run;
  TestMember a(run), b(run);
  EXPECT_EQ(a.links.ask(b.id(), Service::piece, "hello", Time(30)), std::nullopt) << "no link";
  link(a, b);
  const auto answer = a.links.ask(b.id(), Service::piece, "hello", Time(30));
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::string(answer->as<char>().begin(), answer->as<char>().end()), "you said hello");
  EXPECT_EQ(a.links.ask(b.id(), Service::piece, "nothing", Time(30)), std::nullopt);
}

TEST(Links, WhatABrokenConnectionLostGoesOverTheNextOne) {
  const TestRun run;
  TestMember a(run), b(run);
  link(a, b);
  constexpr std::size_t kCount = 300;
  for (std::size_t k = 0; k < kCount; ++k) {
    Message message = filled(a.links.pool(), k % 7 == 0 ? 700'000 : 1000, k);
    const DataHead head{1, k, message.size(), 0, 0};
    a.links.send(b.id(), head, std::move(message));
    if (k % 60 == 30) (k % 120 == 30 ? a : b).links.close(k % 120 == 30 ? b.id() : a.id(), "a test");
  }
  ASSERT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == kCount; }));
  const auto messages = b.seen().messages;
  for (std::size_t k = 0; k < kCount; ++k) {
    EXPECT_EQ(messages[k].head.tag, k);
    EXPECT_EQ(messages[k].message.as<char>().front(), static_cast<char>(k % 251));
  }
}

TEST(Links, APeerThatStartsAnewIsAnotherOne) {
  const TestRun run;
  const KeyPair key = KeyPair::make();
  TestMember a(run);
  {
    TestMember b(run, {}, key);
    link(a, b);
    a.links.send(b.id(), {1, 1, 3, 0, 0}, filled(a.links.pool(), 3, 0));
    ASSERT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == 1; }));
  }
  ASSERT_TRUE(a.wait([&](auto& seen) { return seen.downs.contains(key.id()); }));
  a.links.send(key.id(), {1, 2, 3, 0, 0}, filled(a.links.pool(), 3, 0));       // for the previous incarnation
  a.links.send({key.id(), 2}, {2, 3, 3, 0, 0}, filled(a.links.pool(), 3, 0));  // for the next incarnation
  LinkOptions again;
  again.incarnation = 2;
  TestMember b(run, again, key);
  b.links.want(a.id(), a.links.addresses());
  ASSERT_TRUE(b.wait_up(a));
  ASSERT_TRUE(a.wait([&](auto& seen) { return seen.ups[key.id()] == 2; }));
  a.links.send(b.id(), {2, 4, 3, 0, 0}, filled(a.links.pool(), 3, 0));
  ASSERT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == 2; }));
  EXPECT_EQ(b.seen().messages[0].head.tag, 3U);
  EXPECT_EQ(b.seen().messages[1].head.tag, 4U);
}

TEST(Links, RevokedMembersAreClosedOutAndStayOut) {
  const TestRun run;
  TestMember a(run), b(run);
  link(a, b);
  ASSERT_TRUE(a.trust->learn(revoke(a.trust->run(), b.id(), run.founder, run.now)));
  a.links.close(b.id(), "revoked");
  ASSERT_TRUE(b.wait_down(a));
  TestMember c(run);
  link(a, c);  // takes longer than b's next try
  EXPECT_TRUE(c.trust->is_revoked(b.id())) << "told when they greeted";
  EXPECT_EQ(a.seen().ups[b.id()], 1);
  EXPECT_FALSE(a.links.is_up(b.id()));
}

TEST(Links, HeartbeatsGoPastLargeMessages) {
  const TestRun run;
  TestMember a(run), b(run);
  link(a, b);
  a.links.set_heartbeat("step 7");
  for (int k = 0; k < 8; ++k) {
    Message message = a.links.pool().make(8 << 20);
    const DataHead head{1, 0, message.size(), 0, 0};
    a.links.send(b.id(), head, std::move(message));
  }
  EXPECT_TRUE(b.wait([&](auto& seen) { return seen.heartbeats[a.id()] == "step 7"; }));
  EXPECT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == 8; }));
}

TEST(Links, SendersWaitForTheNetworkNotForEver) {
  const TestRun run;
  LinkOptions little;
  little.backlog = 1 << 20;
  TestMember a(run, little), b(run);
  int asked = 0;  // no link: nothing is sent
  for (int k = 0; k < 3; ++k)
    a.links.send(b.id(), {1, 0, 1 << 20, 0, 0}, a.links.pool().make(1 << 20), [&] { return ++asked < 3; });
  EXPECT_GT(asked, 0);
  link(a, b);
  EXPECT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == 3; })) << "what was kept arrives";
}

}  // namespace
}  // namespace veche::grid
