#include <gtest/gtest.h>

#include "tests/support/link_member.h"
#include "veche/comm/grid/discovery/lan_messages.h"
#include "veche/comm/grid/discovery/record.h"
#include "veche/comm/grid/discovery/topic.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

TEST(AddressRecord, IsReadByWhoKnowsTheRunAndBelievedFromMembersAlone) {
  const TestRun run, other;
  const auto trust = run.trust();
  const KeyPair key = KeyPair::make();
  const std::string certificate = make_member(run.founder, key.get(), run.now);
  const std::vector<std::string> addresses{"10.0.0.7:4000", "192.168.1.11:4000"};
  const AddressRecord record =
      make_address_record(trust->run(), key, certificate, run.warrant, addresses, run.now);
  const std::string sealed = seal(trust->run(), record);
  EXPECT_LT(sealed.size(), 1024U);
  EXPECT_EQ(sealed.find("10.0.0.7"), std::string::npos);
  const auto read = unseal(trust->run(), sealed);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->addresses, addresses);
  EXPECT_TRUE(is_genuine(*read, *trust, run.now));
  EXPECT_TRUE(is_genuine(*read, Trust(run.certificate), run.now)) << "it brings the warrant along";

  EXPECT_FALSE(unseal(other.trust()->run(), sealed));
  for (std::size_t i = 0; i < sealed.size(); i += 7) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(unseal(trust->run(), changed)) << i;
    EXPECT_FALSE(unseal(trust->run(), sealed.substr(0, i))) << i;
  }
  AddressRecord moved = *read;
  moved.addresses.front() = "10.0.0.8:4000";
  EXPECT_FALSE(is_genuine(moved, *trust, run.now)) << "others' words";
  EXPECT_FALSE(is_genuine(*read, *trust, run.now + std::chrono::minutes(20))) << "an old one again";
  EXPECT_FALSE(is_genuine(*read, *other.trust(), run.now)) << "of another run";
  trust->learn(revoke(trust->run(), key.id(), run.founder, run.now));
  EXPECT_FALSE(is_genuine(*read, *trust, run.now)) << "of who was revoked";
}

TEST(LanMessage, IsReadAsItIsWrittenAndSaysNothingOfTheRunsId) {
  MemberId run;
  run.bytes.fill(7);
  const LanMessage word{LanMessage::Kind::here, topic_of(run, "lan"), 4000, 99};
  const std::string text = coded(word);
  EXPECT_EQ(coded(read_lan_word(text)), text);
  EXPECT_EQ(text.find(std::string(8, 7)), std::string::npos);
  EXPECT_NE(topic_of(run, "lan"), topic_of(run, "dht"));
  for (std::size_t i = 0; i < text.size(); ++i)
    EXPECT_THROW(read_lan_word(text.substr(0, i)), MalformedMessage);
  EXPECT_THROW(read_lan_word(text + "x"), MalformedMessage);
  std::string other = text;
  other[8] = 3;
  EXPECT_THROW(read_lan_word(other), MalformedMessage);
}

TEST(Meeting, WhoeverAnswersIsLinkedIfItIsAMember) {
  const TestRun run, foreign;
  TestMember a(run), b(run), stranger(foreign);
  a.links.meet({"127.0.0.1:1", stranger.links.addresses().front(), b.links.addresses().front()});
  ASSERT_TRUE(a.wait_up(b));
  ASSERT_TRUE(b.wait_up(a));
  EXPECT_FALSE(a.seen().ups.contains(stranger.id()));
}

}  // namespace
}  // namespace veche::grid
