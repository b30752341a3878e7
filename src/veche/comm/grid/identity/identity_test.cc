#include <gtest/gtest.h>

#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

using std::chrono::hours;

// A run with its founder, as made by `found`.
struct TestedRun {
  const Instant now = std::chrono::system_clock::now();
  const KeyPair root = KeyPair::make();
  const KeyPair founder = KeyPair::make();
  const std::string warrant = make_root_warrant(root, founder.get(), now);
  Trust trust{make_root(root, now)};

  TestedRun() { EXPECT_TRUE(trust.learn(warrant)); }
  std::optional<std::string> refusal(const std::string& certificate, Instant when) const {
    return trust.refusal(read_certificate(certificate).get(), nullptr, when);
  }
  InvitationLine invite(std::uint32_t uses, Instant expires) const {
    return make_invitation(trust.run(), founder, {"10.0.0.7:4000", "[fe80::1]:1"}, uses, expires);
  }
};

// FIPS 180-4 of the public key in RFC 8410 encoding: 12 bytes before the 32 of the key. The key
// pair is the first of RFC 8032, section 7.1.
TEST(Identity, AnIdIsTheHashOfThePublicKey) {
  const Seed seed{0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a,
                  0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
                  0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60};
  const KeyPair key = KeyPair::of(seed);
  EXPECT_EQ(hex(MemberId{key.public_key()}),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(hex(key.id()), "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9");
  EXPECT_EQ(KeyPair::from_pem(key.pem()).id(), key.id());
  EXPECT_THROW(KeyPair::from_pem("no key"), RequestError);
}

TEST(Identity, AMembersCertificateIsGoodForADay) {
  const TestedRun run;
  const std::string certificate = make_member(run.founder, KeyPair::make().get(), run.now);
  EXPECT_EQ(run.refusal(certificate, run.now), std::nullopt);
  EXPECT_EQ(run.refusal(certificate, run.now + hours(23)), std::nullopt);
  EXPECT_NE(run.refusal(certificate, run.now + hours(25)), std::nullopt) << "expired";
  EXPECT_NE(run.refusal(certificate, run.now - hours(2)), std::nullopt) << "not yet";
}

TEST(Identity, StrangersAreRefused) {
  const TestedRun run, other;
  for (int i = 0; i < 50; ++i) {
    const KeyPair key = KeyPair::make();
    EXPECT_NE(run.refusal(make_newcomer(key, run.now), run.now), std::nullopt) << "signed by itself";
    EXPECT_NE(run.refusal(make_member(other.founder, key.get(), run.now), run.now), std::nullopt)
        << "foreign";
    EXPECT_NE(run.refusal(make_member(key, key.get(), run.now), run.now), std::nullopt) << "no inviter";
    EXPECT_NE(run.refusal(make_member(run.root, key.get(), run.now), run.now), std::nullopt) << "by the root";
  }
  EXPECT_NE(run.refusal(run.warrant, run.now), std::nullopt) << "a warrant is no member's";
  EXPECT_NE(run.refusal(run.trust.root(), run.now), std::nullopt);
  // A signature without a warrant is void, whatever is shown with it.
  const KeyPair member = KeyPair::make(), friend_of_it = KeyPair::make();
  const Openssl<STACK_OF(X509)> shown(sk_X509_new_null());
  sk_X509_push(shown.get(), read_certificate(make_member(run.founder, member.get(), run.now)).release());
  const auto signed_by_it = read_certificate(make_member(member, friend_of_it.get(), run.now));
  EXPECT_NE(run.trust.refusal(signed_by_it.get(), shown.get(), run.now), std::nullopt);
  sk_X509_push(shown.get(), read_certificate(make_warrant(member, member.get(), run.now)).release());
  EXPECT_NE(run.trust.refusal(signed_by_it.get(), shown.get(), run.now), std::nullopt);
}

TEST(Identity, AWarrantMayComeWithTheCertificate) {
  const TestedRun run;
  const KeyPair second = KeyPair::make(), member = KeyPair::make();
  const std::string warrant = make_warrant(run.founder, second.get(), run.now);
  const auto certificate = read_certificate(make_member(second, member.get(), run.now));
  EXPECT_NE(run.trust.refusal(certificate.get(), nullptr, run.now), std::nullopt) << "not known yet";
  const Openssl<STACK_OF(X509)> shown(sk_X509_new_null());
  sk_X509_push(shown.get(), read_certificate(warrant).release());
  EXPECT_EQ(run.trust.refusal(certificate.get(), shown.get(), run.now), std::nullopt);
}

TEST(Identity, WhoWasRevokedIsRefusedAndSoIsWhatItSigned) {
  TestedRun run;
  const KeyPair second = KeyPair::make(), member = KeyPair::make();
  ASSERT_TRUE(run.trust.learn(make_warrant(run.founder, second.get(), run.now)));
  const std::string of_member = make_member(second, member.get(), run.now);
  EXPECT_EQ(run.refusal(of_member, run.now), std::nullopt);

  EXPECT_FALSE(run.trust.learn(revoke(run.trust.run(), second.id(), member, run.now))) << "it may not invite";
  Revocation forged = revoke(run.trust.run(), member.id(), run.founder, run.now);
  forged.member = second.id();
  EXPECT_FALSE(run.trust.learn(forged));

  const Revocation genuine = revoke(run.trust.run(), second.id(), run.founder, run.now);
  EXPECT_TRUE(run.trust.learn(Revocation::parse(genuine.coded())));
  EXPECT_FALSE(run.trust.learn(genuine)) << "known";
  EXPECT_NE(run.refusal(make_member(run.founder, second.get(), run.now), run.now), std::nullopt);
  EXPECT_NE(run.refusal(of_member, run.now), std::nullopt) << "its signer was revoked";
  EXPECT_EQ(run.refusal(make_member(run.founder, member.get(), run.now), run.now), std::nullopt) << "renewed";
  EXPECT_FALSE(run.trust.learn(revoke(run.trust.run(), run.founder.id(), second, run.now)));
}

// Members that admit each other in turn; 0 is the founder.
struct TestedChain : TestedRun {
  std::vector<KeyPair> members{founder};

  bool grow() {
    members.push_back(KeyPair::make());
    return trust.learn(make_warrant(members[members.size() - 2], members.back().get(), now));
  }
  void grow_to(std::size_t count) {
    while (members.size() < count) EXPECT_TRUE(grow()) << members.size();
  }
  std::string daily(std::size_t i) const { return make_member(members[i], members[i].get(), now); }
  bool may_invite(std::size_t i) const { return trust.inviter(members[i].id()) != nullptr; }
  bool revokes(std::size_t by, std::size_t whom) {
    return trust.learn(
        revoke(trust.run(), members[whom].id(), members[by], now, trust.invited_by(members[whom].id())));
  }
};

TEST(Chain, WhoWasLetInLetsOthersInAndItsProofsAreEnoughForAStranger) {
  TestedChain run;
  run.grow_to(5);
  const auto proofs = run.trust.proofs_of(run.daily(4));
  ASSERT_EQ(proofs.size(), 5U);
  const Trust newcomer(run.trust.root());  // knows only the root
  const Openssl<STACK_OF(X509)> shown(sk_X509_new_null());
  const auto certificate = read_certificate(run.daily(4));
  for (const std::string& proof : proofs) {
    EXPECT_NE(newcomer.refusal(certificate.get(), shown.get(), run.now), std::nullopt) << "one is missing";
    sk_X509_push(shown.get(), read_certificate(proof).release());
  }
  EXPECT_EQ(newcomer.refusal(certificate.get(), shown.get(), run.now), std::nullopt);
  EXPECT_NE(newcomer.refusal(certificate.get(), shown.get(), run.now + hours(25)), std::nullopt) << "expired";
  EXPECT_NE(Trust(TestedRun().trust.root()).refusal(certificate.get(), shown.get(), run.now), std::nullopt)
      << "foreign";
}

TEST(Chain, WarrantsAreLearnedInTheOrderInWhichTheyAreTold) {
  TestedChain run;
  run.grow_to(20);
  Trust other(run.trust.root()), late(run.trust.root());
  for (const std::string& warrant : run.trust.warrants()) EXPECT_TRUE(other.learn(warrant));
  EXPECT_NE(other.inviter(run.members.back().id()), nullptr);
  EXPECT_FALSE(late.learn(run.trust.warrants().back())) << "nobody knows who signed it";
  const KeyPair stranger = KeyPair::make(), friend_of_it = KeyPair::make();
  EXPECT_FALSE(other.learn(make_warrant(stranger, friend_of_it.get(), run.now)));
  EXPECT_FALSE(other.learn(make_warrant(stranger, stranger.get(), run.now)));
  EXPECT_FALSE(other.learn(make_member(run.founder, stranger.get(), run.now))) << "no warrant";
  EXPECT_FALSE(other.learn("no certificate"));
}

TEST(Chain, HasAnEndAndSoHasWhatIsRemembered) {
  TestedChain run;
  run.grow_to(kLongestChain);
  EXPECT_EQ(run.refusal(run.daily(kLongestChain - 1), run.now), std::nullopt);
  std::size_t bytes = 0;
  for (const std::string& proof : run.trust.proofs_of(run.daily(kLongestChain - 1))) bytes += proof.size();
  EXPECT_LT(bytes, 120'000U) << "OpenSSL is told to take 128 KB of certificates from a peer";
  EXPECT_FALSE(run.grow()) << "one too many";
  EXPECT_FALSE(run.may_invite(kLongestChain));
  const auto certificate = read_certificate(
      make_member(run.members[kLongestChain - 1], run.members[kLongestChain].get(), run.now));
  EXPECT_EQ(run.trust.refusal(certificate.get(), nullptr, run.now), std::nullopt) << "but it may take part";

  std::size_t learned = run.members.size() - 1;
  while (learned <= 5000 && run.trust.learn(make_warrant(run.founder, KeyPair::make().get(), run.now)))
    ++learned;
  EXPECT_EQ(learned, 4096U);
  bytes = 0;
  for (const std::string& warrant : run.trust.warrants()) bytes += warrant.size() + 4;
  EXPECT_LT(bytes, 3U << 20) << "a greeting has at most 4 MB";
  EXPECT_EQ(run.refusal(run.daily(5), run.now), std::nullopt);

  run.trust.keep({run.members[9].id(), run.members[3].id()});
  EXPECT_EQ(run.trust.warrants().size(), 10U) << "those who take part and who let them in";
  EXPECT_TRUE(run.may_invite(9));
  run.trust.keep({run.founder.id()});
  EXPECT_TRUE(run.may_invite(9)) << "there is room";
}

TEST(Chain, WhomARevokedMemberHadLetInStaysAndMayInvite) {
  TestedChain run;
  run.grow_to(6);
  ASSERT_TRUE(run.revokes(5, 2)) << "anybody may revoke, also who has let it in";
  EXPECT_NE(run.refusal(run.daily(2), run.now), std::nullopt);
  EXPECT_FALSE(run.may_invite(2));
  for (const std::size_t i : {0U, 1U, 3U, 4U, 5U}) {
    EXPECT_TRUE(run.may_invite(i)) << i;
    EXPECT_EQ(run.refusal(run.daily(i), run.now), std::nullopt) << i;
  }
  ASSERT_TRUE(run.revokes(3, 0)) << "the founder is nothing special";
  EXPECT_FALSE(run.may_invite(0));
  EXPECT_TRUE(run.may_invite(5));
  run.grow_to(8);
  EXPECT_TRUE(run.may_invite(7));
  // A member that learns all this later reaches the same result.
  Trust other(run.trust.root());
  for (const std::string& warrant : run.trust.warrants()) other.learn(warrant);
  for (const Revocation& told : run.trust.revocations()) EXPECT_TRUE(other.learn(told));
  for (std::size_t i = 0; i < run.members.size(); ++i)
    EXPECT_EQ(other.inviter(run.members[i].id()) != nullptr, run.may_invite(i)) << i;
}

TEST(Chain, WhatARevokedMemberSignsLaterIsWorthless) {
  TestedChain run;
  run.grow_to(4);
  const KeyPair late = KeyPair::make(), late_friend = KeyPair::make();
  const std::string unknown = make_warrant(run.members[2], late.get(), run.now);  // unknown to all members
  ASSERT_TRUE(run.revokes(1, 2));
  EXPECT_FALSE(run.trust.learn(unknown));
  const Openssl<STACK_OF(X509)> shown(sk_X509_new_null());
  for (const std::string& proof : {make_warrant(late, late_friend.get(), run.now), unknown,
                                   make_warrant(run.members[1], run.members[2].get(), run.now)})
    sk_X509_push(shown.get(), read_certificate(proof).release());
  for (const std::string& certificate :
       {make_member(late, late.get(), run.now), make_member(late_friend, late_friend.get(), run.now),
        make_member(run.members[2], late.get(), run.now)})
    EXPECT_NE(run.trust.refusal(read_certificate(certificate).get(), shown.get(), run.now), std::nullopt);
  // A member that still takes part gets a signature from another one.
  EXPECT_TRUE(run.trust.learn(make_warrant(run.members[3], late.get(), run.now)));
  EXPECT_EQ(run.refusal(make_member(late, late.get(), run.now), run.now), std::nullopt);
  EXPECT_FALSE(run.revokes(2, 1)) << "who was revoked revokes nobody";
}

TEST(Chain, OfTwoRevocationsTheEarlierStaysWithEverybody) {
  TestedChain run;
  run.grow_to(4);
  const MemberId whom = run.members[2].id(), spared = run.members[3].id();
  const Revocation first = revoke(run.trust.run(), whom, run.members[0], run.now - hours(1), {spared});
  const Revocation second = revoke(run.trust.run(), whom, run.members[1], run.now);
  Trust other(run.trust.root());
  for (const std::string& warrant : run.trust.warrants()) other.learn(warrant);
  EXPECT_TRUE(run.trust.learn(second));
  EXPECT_FALSE(run.may_invite(3));
  EXPECT_FALSE(run.trust.learn(first)) << "it was revoked already";
  EXPECT_TRUE(other.learn(first));
  EXPECT_FALSE(other.learn(second));
  EXPECT_TRUE(run.may_invite(3));
  EXPECT_NE(other.inviter(spared), nullptr);
}

TEST(Chain, ARevocationNamesAFewAndIsReadBack) {
  TestedRun run;
  std::vector<MemberId> many(kMostSpared + 1, run.founder.id());
  const Revocation made = revoke(run.trust.run(), KeyPair::make().id(), run.founder, run.now, many);
  EXPECT_EQ(made.spared.size(), kMostSpared);
  EXPECT_LE(made.coded().size(), 4096U) << "so much of it is told";
  EXPECT_EQ(Revocation::parse(made.coded()).coded(), made.coded());
  Revocation forged = made;
  forged.spared.pop_back();
  EXPECT_FALSE(run.trust.learn(forged));
  EXPECT_TRUE(run.trust.learn(made));
  for (std::size_t i = 0; i < made.coded().size(); i += 5)
    EXPECT_THROW(Revocation::parse(made.coded().substr(0, i)), MalformedMessage);
}

TEST(Invitation, IsOneLineThatCanBeReadBack) {
  const TestedRun run;
  const InvitationLine made = run.invite(5, run.now + hours(24));
  const std::string text = made.text();
  EXPECT_LT(text.size(), 400U);
  EXPECT_EQ(text.find_first_of(" \n\"'/+="), std::string::npos);
  const InvitationLine read = InvitationLine::parse(text + "\n");
  EXPECT_EQ(read.text(), text);
  EXPECT_EQ(read.addresses, made.addresses);
  EXPECT_EQ(read.ticket.secret_of, made.ticket.secret_of);
  EXPECT_EQ(refusal(run.trust, read.ticket, 4, run.now), std::nullopt);
}

TEST(Invitation, ExpiredSpentForgedAndForeignOnesAreRefused) {
  const TestedRun run, other;
  for (int i = 0; i < 50; ++i) {
    const InvitationLine made = run.invite(3, run.now + hours(1));
    EXPECT_NE(refusal(run.trust, made.ticket, 3, run.now), std::nullopt) << "spent";
    EXPECT_NE(refusal(run.trust, made.ticket, 0, run.now + hours(1)), std::nullopt) << "expired";
    EXPECT_NE(refusal(other.trust, made.ticket, 0, run.now), std::nullopt) << "of another run";
    Ticket forged = made.ticket;
    forged.uses = 1000;
    EXPECT_NE(refusal(run.trust, forged, 0, run.now), std::nullopt) << "forged";
  }
}

TEST(Invitation, TheProofIsGoodForOneSessionOnly) {
  const TestedRun run;
  const InvitationLine made = run.invite(3, run.now + hours(1));
  const MemberId run_id = run.trust.run(), newcomer = KeyPair::make().id(), host = run.founder.id();
  const Signature proof = prove(made, "session", newcomer, host);
  EXPECT_TRUE(is_proven(run_id, made.ticket, "session", newcomer, host, proof));
  EXPECT_FALSE(is_proven(run_id, made.ticket, "another", newcomer, host, proof)) << "replayed";
  EXPECT_FALSE(is_proven(run_id, made.ticket, "session", host, host, proof)) << "by somebody else";
  EXPECT_FALSE(is_proven(run_id, run.invite(3, run.now).ticket, "session", newcomer, host, proof));
}

TEST(Invitation, EveryLetterCounts) {
  const TestedRun run;
  const std::string text = run.invite(5, run.now + hours(24)).text();
  for (std::size_t i = 7; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    // The last character holds unused bits.
    if (i + 1 < text.size()) {
      EXPECT_THROW(InvitationLine::parse(changed), RequestError) << i;
    }
    EXPECT_THROW(InvitationLine::parse(text.substr(0, i)), RequestError) << i;
  }
  EXPECT_THROW(InvitationLine::parse(""), RequestError);
  EXPECT_THROW(InvitationLine::parse("VECHE2-AAAA"), RequestError);
  EXPECT_THROW(InvitationLine::parse("VECHE1-" + std::string(100'000, 'A')), RequestError);
}

}  // namespace
}  // namespace veche::grid
