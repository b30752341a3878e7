#include "veche/comm/grid/links/links.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <cstdlib>
#include <fstream>
#include <future>

#include "veche/comm/grid/coding.h"
#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/test_member.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/errors.h"

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
  ASSERT_TRUE(b.wait([&] { return b.messages.size() == sizes.size() + 1; }));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto& got = b.messages[k];
    EXPECT_EQ(got.head.tag, k);
    EXPECT_EQ(got.head.view, 7U);
    ASSERT_EQ(got.message.size(), sizes[k]);
    MessagePool pool;
    EXPECT_TRUE(std::ranges::equal(got.message.bytes(), filled(pool, sizes[k], k).bytes()));
  }
  EXPECT_TRUE(b.messages.back().ended);
  EXPECT_TRUE(b.wait([&] { return b.words.size() == sizes.size(); }));
  EXPECT_TRUE(a.links.flush(Time(30)));
  EXPECT_EQ(a.ups[b.id()], 1) << "one link, whoever dialled";
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
  ASSERT_TRUE(b.wait([&] { return b.messages.size() == kCount; }));
  for (std::size_t k = 0; k < kCount; ++k) {
    EXPECT_EQ(b.messages[k].head.tag, k);
    EXPECT_EQ(b.messages[k].message.as<char>().front(), static_cast<char>(k % 251));
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
    ASSERT_TRUE(b.wait([&] { return b.messages.size() == 1; }));
  }
  ASSERT_TRUE(a.wait([&] { return a.downs.contains(key.id()); }));
  a.links.send(key.id(), {1, 2, 3, 0, 0}, filled(a.links.pool(), 3, 0));       // for who is gone
  a.links.send({key.id(), 2}, {2, 3, 3, 0, 0}, filled(a.links.pool(), 3, 0));  // for who comes
  LinkOptions again;
  again.incarnation = 2;
  TestMember b(run, again, key);
  b.links.want(a.id(), a.links.addresses());
  ASSERT_TRUE(b.wait_up(a));
  ASSERT_TRUE(a.wait([&] { return a.ups[key.id()] == 2; }));
  a.links.send(b.id(), {2, 4, 3, 0, 0}, filled(a.links.pool(), 3, 0));
  ASSERT_TRUE(b.wait([&] { return b.messages.size() == 2; }));
  EXPECT_EQ(b.messages[0].head.tag, 3U);
  EXPECT_EQ(b.messages[1].head.tag, 4U);
}

TEST(Links, RevokedMembersAreClosedOutAndStayOut) {
  const TestRun run;
  TestMember a(run), b(run);
  link(a, b);
  ASSERT_TRUE(a.trust->learn(revoke(a.trust->run(), b.id(), run.founder, run.now)));
  a.links.close(b.id(), "revoked");
  ASSERT_TRUE(b.wait_down(a));
  TestMember c(run);
  link(a, c);  // which takes longer than b's next try
  EXPECT_TRUE(c.trust->is_revoked(b.id())) << "told when they greeted";
  EXPECT_EQ(a.ups[b.id()], 1);
  EXPECT_FALSE(a.links.is_up(b.id()));
}

// A connection to a member with any key, certificate and bytes.
class Intruder {
 public:
  Intruder(const std::string& address, const KeyPair& key, const std::string& certificate,
           Time while_busy = Time(0)) {
    question_.while_busy = while_busy;
    question_.addresses = {address};
    question_.context = make_context(key, certificate, {});
    question_.verify = [](X509*, STACK_OF(X509)*) { return std::nullopt; };
    question_.limit = Time(10);
  }
  std::string ask(Service service, const std::string& text) {
    question_.service = service;
    question_.make = [&](const std::string&, const MemberId&) { return text; };
    const Message answer = ask_once(question_);
    return {answer.as<char>().begin(), answer.as<char>().end()};
  }

 private:
  OneQuestion question_;
};

// TRIES says how many (200).
int rounds_of_tries() {
  const char* given = std::getenv("TRIES");
  return (given == nullptr ? 200 : std::stoi(given)) / 5;
}

// Of this process; sanitizers keep what was freed.
std::size_t resident_bytes() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 0;
#else
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#endif
}

TEST(Admission, NoCertificateButAMembersGetsAnAnswer) {
  const TestRun run, other;
  TestMember a(run);
  const std::string at = a.links.addresses().front();
  std::size_t resident = 0;
  for (int i = 0; i < rounds_of_tries(); ++i) {
    if (i == 20) resident = resident_bytes();
    const KeyPair key = KeyPair::make();
    const auto refused = [&](const std::string& certificate, Service service) {
      EXPECT_THROW(Intruder(at, key, certificate).ask(service, "x"), RequestError);
    };
    refused(make_member(other.founder, key.get(), run.now), Service::piece);  // foreign
    refused(make_member(run.founder, key.get(), run.now - std::chrono::hours(30)),
            Service::piece);                               // expired
    refused(make_newcomer(key, run.now), Service::piece);  // a newcomer may only join
    const std::string good = make_member(run.founder, key.get(), run.now);
    refused(good, Service::join);  // a member greets first
    a.trust->learn(revoke(a.trust->run(), key.id(), run.founder, run.now));
    refused(good, Service::piece);
    refused(make_newcomer(key, run.now), Service::join);  // revoked: not even that
  }
  EXPECT_TRUE(a.askers.empty()) << "nobody was listened to";
  EXPECT_LT(resident_bytes(), resident + (16U << 20)) << "what was refused is forgotten";
  const KeyPair key = KeyPair::make();
  EXPECT_EQ(Intruder(at, key, make_newcomer(key, run.now)).ask(Service::join, "please"), "you said please");
  EXPECT_THROW(Intruder(at, key, make_newcomer(key, run.now)).ask(Service::join, std::string(5000, 'x')),
               RequestError);
  EXPECT_EQ(a.askers, std::vector{key.id()});
}

TEST(Admission, ACertificateWithoutItsKeyIsWorthNothing) {
  const TestRun run;
  TestMember a(run), b(run);
  const std::string stolen = make_member(run.founder, b.key.get(), run.now);
  EXPECT_THROW(make_context(KeyPair::make(), stolen, {}), RunError) << "OpenSSL itself refuses the pair";
}

int plain_socket(const std::string& address) {
  const Address where = parse_address(address);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(where.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST(Admission, HalfOpenConnectionsAreFewAndShort) {
  const TestRun run;
  LinkOptions few;
  few.half_open_of_address = 8;
  few.greeting = Time(1);
  TestMember a(run, few);
  std::vector<int> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(plain_socket(a.links.addresses().front()));
  for (const int fd :
       flood) {  // every one is closed: those beyond the limit at once, the others after a second
    char byte = 0;
    EXPECT_LE(recv(fd, &byte, 1, 0), 0);
    close(fd);
  }
  TestMember b(run);
  link(a, b);
}

TEST(Admission, WhoComesWithTooManyOthersComesInAfterThem) {
  const TestRun run;
  LinkOptions few;
  few.half_open_of_address = 1;
  few.greeting = Time(1);
  TestMember a(run, few);
  const std::string at = a.links.addresses().front();
  const int first = plain_socket(at);  // says nothing until it is closed
  std::vector<std::future<std::string>> askers;
  for (int i = 0; i < 4; ++i)
    askers.push_back(std::async(std::launch::async, [&] {
      const KeyPair key = KeyPair::make();
      return Intruder(at, key, make_newcomer(key, run.now), Time(60)).ask(Service::join, "me");
    }));
  for (auto& asker : askers) EXPECT_FALSE(asker.get().empty());
  close(first);
}

TEST(Admission, NoiseIsClosed) {
  const TestRun run;
  TestMember a(run);
  for (int i = 0; i < 20; ++i) {
    const int fd = plain_socket(a.links.addresses().front());
    std::string noise(100, static_cast<char>(i * 13));
    EXPECT_EQ(send(fd, noise.data(), noise.size(), MSG_NOSIGNAL), 100);
    char bytes[256];
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
    }
    close(fd);
  }
}

// A member with a good certificate that greets as it should, and then does as the test says.
class Rogue {
 public:
  Rogue(const TestRun& run, const TestMember& host)
      : run_(run),
        stream_(asio::ip::tcp::socket(context_),
                make_context(key, make_member(run.founder, key.get(), run.now), {run.warrant}),
                [](X509*, STACK_OF(X509) *) { return std::nullopt; }) {
    const Address where = parse_address(host.links.addresses().front());
    perform([this, where]() -> asio::awaitable<void> {
      const asio::ip::tcp::endpoint endpoint(*where.number, where.port);
      co_await stream_.socket().async_connect(endpoint, asio::use_awaitable);
    });
    perform([this, peer = host.id()]() -> asio::awaitable<void> { co_await greet(peer); });
  }
  void write(const std::string& bytes) {
    perform([this, bytes]() -> asio::awaitable<void> { co_await stream_.write(bytes); });
  }

  const KeyPair key = KeyPair::make();

 private:
  template <class Coroutine>
  void perform(Coroutine coroutine) {
    std::exception_ptr failed;
    bool done = false;
    asio::co_spawn(context_, coroutine, [&](std::exception_ptr error) {
      failed = error;
      done = true;
    });
    context_.restart();
    context_.run_for(kLimit);
    ASSERT_TRUE(done);
    ASSERT_FALSE(failed) << "the rogue could not do it";
  }

  asio::awaitable<void> greet(MemberId peer) {
    co_await stream_.handshake(false);
    const std::string hello = coded(Hello{run_.trust()->run(), 1, 1, "rogue", {}, {}, {}});
    const std::string greeting =
        coded(Header{Kind::hello, 0, static_cast<std::uint32_t>(hello.size()), 0}) + hello;
    const std::string use = coded(Header{Kind::use, 0, 0, 0});
    co_await stream_.write(greeting);
    co_await skip_frame();
    const bool first = key.id() < peer;
    if (first) co_await stream_.write(use);
    co_await skip_frame();
    if (!first) co_await stream_.write(use);
  }
  asio::awaitable<void> skip_frame() {
    std::array<char, kHeaderBytes> bytes{};
    co_await stream_.read(bytes);
    const Header header = read_header(bytes);
    std::string rest(header.length, 0);
    co_await stream_.read(rest);
  }

  const TestRun& run_;
  asio::io_context context_;
  TlsStream stream_;
};

TEST(Links, DamagedFramesCloseTheLinkAndNothingElse) {
  const TestRun run;
  TestMember a(run), good(run);
  link(a, good);
  const auto frame = [](int kind, std::uint32_t length, const std::string& bytes = "",
                        std::uint8_t flags = 0) {
    return coded(Header{static_cast<Kind>(kind), flags, length, 0}) + bytes;
  };
  const std::string head = coded(DataHead{1, 1, 100, 0, 0});
  const std::vector<std::string> damaged{
      frame(0, 0),                                       // no such kind
      frame(200, 0),                                     //
      frame(3, 1025),                                    // too long a heartbeat
      frame(6, 0xffffffff),                              // too long a piece
      frame(7, 10, std::string(10, 'x')),                // more of nothing
      frame(6, 10, std::string(10, 'x')),                // too short for its head
      frame(6, 32 + 200, head + std::string(200, 'x')),  // more than it said
      frame(6, 32 + 10, head + std::string(10, 'x')) +
          frame(6, 32 + 10, head + std::string(10, 'x')),                 // inside
      frame(6, 32, head, kNodeEnded),                                     // bytes with what has none
      frame(6, 32, coded(DataHead{1, 1, std::uint64_t{1} << 60, 0, 0})),  // a message of an exabyte
      frame(1, 3, "abc"),                                                 // greets again
      frame(2, 0),                                                        //
      frame(9, 1, std::string(1, 1)),                                     // a member does not join
      frame(9, 1, std::string(1, 99)),                                    // asks for what there is not
      std::string(64, static_cast<char>(0xff)),
  };
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    Rogue rogue(run, a);
    ASSERT_TRUE(a.wait([&] { return a.ups.contains(rogue.key.id()); })) << i;
    rogue.write(damaged[i]);
    EXPECT_TRUE(a.wait([&] { return a.downs.contains(rogue.key.id()); })) << i;
  }
  EXPECT_TRUE(a.links.is_up(good.id()));
  EXPECT_TRUE(a.messages.empty());
}

TEST(Links, APeerThatDoesNotReadIsLeft) {
  const TestRun run;
  LinkOptions impatient;
  impatient.stall = Time(0.5);
  impatient.silence = Time(20);
  TestMember a(run, impatient);
  Rogue rogue(run, a);
  ASSERT_TRUE(a.wait([&] { return a.ups.contains(rogue.key.id()); }));
  for (int k = 0; k < 8; ++k)
    a.links.send(rogue.key.id(), {1, 0, 8 << 20, 0, 0}, a.links.pool().make(8 << 20), [] { return false; });
  ASSERT_TRUE(a.wait([&] { return a.downs.contains(rogue.key.id()); }));
  EXPECT_NE(a.downs[rogue.key.id()].find("read nothing"), std::string::npos) << a.downs[rogue.key.id()];
}

TEST(Links, APeerThatSaysNothingIsLeft) {
  const TestRun run;
  LinkOptions impatient;
  impatient.silence = Time(0.5);
  TestMember a(run, impatient);
  Rogue rogue(run, a);
  ASSERT_TRUE(a.wait([&] { return a.ups.contains(rogue.key.id()); }));
  EXPECT_FALSE(a.links.flush(Time(3600))) << "it has acknowledged nothing, and is gone long before the limit";
  ASSERT_TRUE(a.wait([&] { return a.downs.contains(rogue.key.id()); }));
  EXPECT_NE(a.downs[rogue.key.id()].find("silent"), std::string::npos) << a.downs[rogue.key.id()];
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
  EXPECT_TRUE(b.wait([&] { return b.heartbeats[a.id()] == "step 7"; }));
  EXPECT_TRUE(b.wait([&] { return b.messages.size() == 8; }));
}

TEST(Links, SendersWaitForTheNetworkNotForEver) {
  const TestRun run;
  LinkOptions little;
  little.backlog = 1 << 20;
  TestMember a(run, little), b(run);
  int asked = 0;  // nobody is linked: nothing leaves
  for (int k = 0; k < 3; ++k)
    a.links.send(b.id(), {1, 0, 1 << 20, 0, 0}, a.links.pool().make(1 << 20), [&] { return ++asked < 3; });
  EXPECT_GT(asked, 0);
  link(a, b);
  EXPECT_TRUE(b.wait([&] { return b.messages.size() == 3; })) << "what was kept arrives";
}

TEST(Frames, LengthsBeyondTheirKindAreRefused) {
  for (int kind = 0; kind < 256; ++kind) {
    const std::string bytes = coded(Header{static_cast<Kind>(kind), 0, 0xffffffffU, 1});
    std::array<char, kHeaderBytes> header{};
    std::ranges::copy(bytes, header.begin());
    EXPECT_THROW(read_header(header), Damaged) << kind;
  }
  Hello hello{{}, 3, 2, "lab", {"10.0.0.1:1"}, {"w"}, {"r", "s"}};
  const std::string text = coded(hello);
  EXPECT_EQ(coded(read_hello(text)), text);
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_THROW(read_hello(text.substr(0, i)), Damaged);
  EXPECT_THROW(read_hello(text + "x"), Damaged);
}

}  // namespace
}  // namespace veche::grid
