// An admitted member that sends invalid data, or nothing.
#include <gtest/gtest.h>

#include <array>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include "tests/support/link_member.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/frames.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

// A member with a valid certificate that greets correctly and then does what the test says.
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
      frame(0, 0),                                       // unknown kind
      frame(200, 0),                                     //
      frame(3, 1025),                                    // heartbeat too long
      frame(6, 0xffffffff),                              // chunk too long
      frame(7, 10, std::string(10, 'x')),                // continuation without a message
      frame(6, 10, std::string(10, 'x')),                // too short for its header
      frame(6, 32 + 200, head + std::string(200, 'x')),  // more bytes than announced
      frame(6, 32 + 10, head + std::string(10, 'x')) +
          frame(6, 32 + 10, head + std::string(10, 'x')),                 // wrong continuation
      frame(6, 32, head, kNodeEnded),                                     // bytes where none are allowed
      frame(6, 32, coded(DataHead{1, 1, std::uint64_t{1} << 60, 0, 0})),  // a message of an exabyte
      frame(1, 3, "abc"),                                                 // greets again
      frame(2, 0),                                                        //
      frame(9, 1, std::string(1, 1)),                                     // a member does not join
      frame(9, 1, std::string(1, 99)),                                    // unknown request
      std::string(64, static_cast<char>(0xff)),
  };
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    Rogue rogue(run, a);
    ASSERT_TRUE(a.wait([&](auto& seen) { return seen.ups.contains(rogue.key.id()); })) << i;
    rogue.write(damaged[i]);
    EXPECT_TRUE(a.wait([&](auto& seen) { return seen.downs.contains(rogue.key.id()); })) << i;
  }
  EXPECT_TRUE(a.links.is_up(good.id()));
  EXPECT_TRUE(a.seen().messages.empty());
}

TEST(Links, APeerThatDoesNotReadIsLeft) {
  const TestRun run;
  LinkOptions impatient;
  impatient.stall = Time(0.5);
  impatient.silence = Time(20);
  TestMember a(run, impatient);
  Rogue rogue(run, a);
  ASSERT_TRUE(a.wait([&](auto& seen) { return seen.ups.contains(rogue.key.id()); }));
  for (int k = 0; k < 8; ++k)
    a.links.send(rogue.key.id(), {1, 0, 8 << 20, 0, 0}, a.links.pool().make(8 << 20), [] { return false; });
  ASSERT_TRUE(a.wait([&](auto& seen) { return seen.downs.contains(rogue.key.id()); }));
  EXPECT_NE(a.seen().downs[rogue.key.id()].find("read nothing"), std::string::npos)
      << a.seen().downs[rogue.key.id()];
}

TEST(Links, APeerThatSaysNothingIsLeft) {
  const TestRun run;
  LinkOptions impatient;
  impatient.silence = Time(0.5);
  TestMember a(run, impatient);
  Rogue rogue(run, a);
  ASSERT_TRUE(a.wait([&](auto& seen) { return seen.ups.contains(rogue.key.id()); }));
  EXPECT_FALSE(a.links.flush(Time(3600))) << "it has acknowledged nothing, and is gone long before the limit";
  ASSERT_TRUE(a.wait([&](auto& seen) { return seen.downs.contains(rogue.key.id()); }));
  EXPECT_NE(a.seen().downs[rogue.key.id()].find("silent"), std::string::npos)
      << a.seen().downs[rogue.key.id()];
}

TEST(Frames, LengthsBeyondTheirKindAreRefused) {
  for (int kind = 0; kind < 256; ++kind) {
    const std::string bytes = coded(Header{static_cast<Kind>(kind), 0, 0xffffffffU, 1});
    std::array<char, kHeaderBytes> header{};
    std::ranges::copy(bytes, header.begin());
    EXPECT_THROW(read_header(header), MalformedMessage) << kind;
  }
  Hello hello{{}, 3, 2, "lab", {"10.0.0.1:1"}, {"w"}, {"r", "s"}};
  const std::string text = coded(hello);
  EXPECT_EQ(coded(read_hello(text)), text);
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_THROW(read_hello(text.substr(0, i)), MalformedMessage);
  EXPECT_THROW(read_hello(text + "x"), MalformedMessage);
}

// docs/compatibility.md promises it: members of two versions know why they do not link.
TEST(Frames, AnotherVersionOfTheProtocolIsNamed) {
  std::string text = coded(Hello{{}, 3, 2, "lab", {}, {}, {}});
  const int ours = text[0];
  text[0] = static_cast<char>(ours + 1);
  try {
    read_hello(text);
    FAIL() << "a member of another version was understood";
  } catch (const MalformedMessage& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("version " + std::to_string(ours + 1)), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("version " + std::to_string(ours)), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace veche::grid
