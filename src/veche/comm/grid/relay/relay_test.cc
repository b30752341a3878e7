#include "veche/comm/grid/relay/relay.h"

#include <gtest/gtest.h>

#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/link_member.h"
#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

using asio::ip::tcp;

// An address without a listener, as if behind a NAT.
LinkOptions unreachable() {
  LinkOptions options;
  options.addresses = {"127.0.0.1:1"};
  return options;
}

LinkOptions relaying(RelayLimits limits = {}) {
  LinkOptions options;
  options.relay = true;
  options.relay_limits = limits;
  return options;
}

std::string address_of_link(TestMember& from, const TestMember& to) {
  for (const LinkState& state : from.links.states())
    if (state.peer == to.id() && state.up) return state.address;
  return "";
}

void exchange(TestMember& from, TestMember& to, std::size_t count) {
  const std::size_t before = to.seen().messages.size();
  for (std::size_t k = 0; k < count; ++k) {
    Message message = filled(from.links.pool(), k % 5 == 0 ? 1'500'000 : 1000, k);
    const DataHead head{1, k, message.size(), 0, 0};
    from.links.send(to.id(), head, std::move(message));
  }
  ASSERT_TRUE(to.wait([&](auto& seen) { return seen.messages.size() == before + count; }));
  const auto messages = to.seen().messages;
  for (std::size_t k = 0; k < count; ++k) {
    const Message& got = messages[before + k].message;
    EXPECT_EQ(messages[before + k].head.tag, k);
    MessagePool pool;
    EXPECT_TRUE(std::ranges::equal(got.bytes(), filled(pool, got.size(), k).bytes()));
  }
}

TEST(Reaching, WhoCanDials) {
  const TestRun run;
  TestMember hidden(run, unreachable()), open(run);
  open.links.want(hidden.id(), hidden.links.addresses());
  hidden.links.want(open.id(), open.links.addresses());
  ASSERT_TRUE(open.wait_up(hidden));
  ASSERT_TRUE(hidden.wait_up(open));
  exchange(open, hidden, 20);
  exchange(hidden, open, 20);
  open.links.close(hidden.id(), "a test");
  ASSERT_TRUE(open.wait([&](auto& seen) { return seen.ups[hidden.id()] == 2; })) << "it dials again";
}

TEST(Reaching, WhoCannotBeDialledIsAskedToDial) {
  const TestRun run;
  TestMember middle(run), hidden(run, unreachable()), newcomer(run);
  link(middle, newcomer);
  hidden.links.want(middle.id(), middle.links.addresses());
  ASSERT_TRUE(hidden.wait_up(middle));
  // It does not know the newcomer and cannot be reached by it.
  newcomer.links.want(hidden.id(), hidden.links.addresses());
  ASSERT_TRUE(newcomer.wait_up(hidden));
  EXPECT_TRUE(address_of_link(newcomer, hidden).starts_with("127.0.0.1:"));
}

TEST(Relay, TwoWhoCannotReachEachOtherAreJoinedAndNothingIsLostWhenTheRelayDies) {
  const TestRun run;
  auto first = std::make_unique<TestMember>(run, relaying());
  TestMember a(run, unreachable()), b(run, unreachable()), idle(run);
  for (TestMember* hidden : {&a, &b})
    for (TestMember* open : {first.get(), &idle}) {
      hidden->links.want(open->id(), open->links.addresses());
      ASSERT_TRUE(hidden->wait_up(*open));
    }
  a.links.want(b.id(), b.links.addresses());
  b.links.want(a.id(), a.links.addresses());
  ASSERT_TRUE(a.wait_up(b));
  ASSERT_TRUE(b.wait_up(a));
  EXPECT_EQ(address_of_link(a, b), "relay " + short_name(first->id())) << "the idle one does not relay";
  exchange(a, b, 40);
  exchange(b, a, 40);

  TestMember second(run, relaying());
  for (TestMember* hidden : {&a, &b}) {
    hidden->links.want(second.id(), second.links.addresses());
    ASSERT_TRUE(hidden->wait_up(second));
  }
  // Some messages are in flight when the relay dies.
  constexpr std::size_t kCount = 30;
  for (std::size_t k = 0; k < kCount; ++k) {
    Message message = filled(a.links.pool(), 400'000, k);
    const DataHead head{1, 100 + k, message.size(), 0, 0};
    a.links.send(b.id(), head, std::move(message));
    if (k == kCount / 2) first.reset();
  }
  ASSERT_TRUE(b.wait([&](auto& seen) { return seen.messages.size() == 40 + kCount; }));
  const auto messages = b.seen().messages;
  for (std::size_t k = 0; k < kCount; ++k) EXPECT_EQ(messages[40 + k].head.tag, 100 + k);
  EXPECT_EQ(address_of_link(a, b), "relay " + short_name(second.id()));
}

TEST(Relay, ARevokedMembersBytesAreForwardedNoMore) {
  const TestRun run;
  TestMember relay(run, relaying()), a(run, unreachable()), b(run, unreachable());
  for (TestMember* hidden : {&a, &b}) {
    hidden->links.want(relay.id(), relay.links.addresses());
    ASSERT_TRUE(hidden->wait_up(relay));
  }
  a.links.want(b.id(), {});
  ASSERT_TRUE(a.wait_up(b));
  ASSERT_TRUE(relay.trust->learn(revoke(relay.trust->run(), b.id(), run.founder, run.now)));
  relay.links.close(b.id(), "revoked");
  ASSERT_TRUE(a.wait_down(b));
}

// Records all traffic through the relaying host.
class Wiretap {
 public:
  explicit Wiretap(int port) : port_(static_cast<std::uint16_t>(port)), thread_([this] { run(); }) {}
  ~Wiretap() {
    asio::post(context_, [this] { context_.stop(); });
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  struct Call {
    explicit Call(asio::io_context& context) : ends{tcp::socket(context), tcp::socket(context)} {}
    std::array<tcp::socket, 2> ends;
    std::array<std::array<char, 65536>, 2> buffer;
    std::array<std::string, 2> said;  // by the caller, by the host
  };
  // The recordings that begin with a relay token.
  std::vector<std::array<std::string, 2>> relayed() {
    std::vector<std::array<std::string, 2>> found;
    const std::lock_guard lock(mutex_);
    for (const auto& call : calls_)
      if (call->said[0].starts_with('V')) found.push_back(call->said);
    return found;
  }

 private:
  void run() {
    accept();
    context_.run();
  }
  void accept() {
    const auto call = std::make_shared<Call>(context_);
    acceptor_.async_accept(call->ends[0], [this, call](std::error_code error) {
      if (error) return;
      call->ends[1].connect({asio::ip::address_v4::loopback(), port_});
      {
        const std::lock_guard lock(mutex_);
        calls_.push_back(call);
      }
      for (std::size_t from : {0U, 1U}) pass(call, from);
      accept();
    });
  }
  void pass(const std::shared_ptr<Call>& call, std::size_t from) {
    call->ends[from].async_read_some(
        asio::buffer(call->buffer[from]), [this, call, from](std::error_code error, std::size_t count) {
          std::error_code ignored;
          if (error) {
            call->ends[1 - from].close(ignored);
            return;
          }
          {
            const std::lock_guard lock(mutex_);
            call->said[from].append(call->buffer[from].data(), count);
          }
          asio::write(call->ends[1 - from], asio::buffer(call->buffer[from].data(), count), ignored);
          pass(call, from);
        });
  }

  const std::uint16_t port_;
  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::mutex mutex_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::jthread thread_;
};

TEST(Relay, ForwardsTheBytesOfATlsSessionThatIsNotItsOwn) {
  const TestRun run;
  TestMember relay(run, relaying());
  Wiretap tap(parse_address(relay.links.addresses().front()).port);
  TestMember a(run, unreachable()), b(run, unreachable());
  for (TestMember* hidden : {&a, &b}) {
    hidden->links.want(relay.id(), {tap.address()});
    ASSERT_TRUE(hidden->wait_up(relay));
  }
  a.links.want(b.id(), {});
  ASSERT_TRUE(a.wait_up(b));
  ASSERT_TRUE(b.wait_up(a));
  exchange(a, b, 10);
  EXPECT_TRUE(relay.seen().messages.empty());
  a.links.close(b.id(), "enough");
  ASSERT_TRUE(b.wait_down(a));
  a.links.stop();  // no new traffic: the recording is complete
  auto calls = tap.relayed();
  ASSERT_GE(calls.size(), 2U);
  // The two halves of the first pair: data of one side after its token is received by the other
  // after `joined`. One may have been cut off earlier.
  const bool b_first = !calls[0][0].substr(kPreambleBytes).empty() && calls[0][0][kPreambleBytes] == 0x16 &&
                       static_cast<unsigned char>(calls[0][0][kPreambleBytes + 5]) == 2;  // a ServerHello
  const auto& client = calls[b_first ? 1 : 0];
  const auto& server = calls[b_first ? 0 : 1];
  const std::string sent = client[0].substr(kPreambleBytes), got = server[1].substr(1);
  EXPECT_EQ(client[1].front(), kJoined);
  ASSERT_GT(sent.size(), 3'000'000U) << "both messages of 1.5 MB went this way";
  EXPECT_EQ(sent[0], 0x16);  // a TLS handshake, with
  EXPECT_EQ(sent[5], 1);     // a ClientHello: the session is end to end
  const std::size_t both = std::min(sent.size(), got.size());
  EXPECT_GT(both, 3'000'000U);
  EXPECT_EQ(sent.substr(0, both), got.substr(0, both)) << "not a byte was changed";
  MessagePool pool;
  const Message plain = filled(pool, 1000, 1);
  const std::string text(plain.as<char>().begin(), plain.as<char>().end());
  EXPECT_EQ(sent.find(text), std::string::npos);
}

// A relay alone, and sockets that dial it.
class RelayAlone : public testing::Test {
 protected:
  explicit RelayAlone(RelayLimits limits = {}) : relay(context, limits) {}
  tcp::socket dialled(const Token& token) {
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    tcp::socket here(context);
    here.connect(acceptor.local_endpoint());
    relay.arrived(token, acceptor.accept());
    return here;
  }
  static MemberId member(std::uint8_t number) {
    MemberId id;
    id.bytes[0] = number;
    return id;
  }
  static bool is_closed(tcp::socket& socket) {
    std::error_code error;
    char byte = 0;
    asio::read(socket, asio::buffer(&byte, 1), error);
    return static_cast<bool>(error);
  }
  void run_a_while() {
    context.restart();
    context.run_for(std::chrono::milliseconds(10));
  }

  asio::io_context context{1};
  Relay relay;
};

TEST_F(RelayAlone, WhoDoesNotReadStopsTheOther) {
  const auto tokens = relay.expect(member(1), member(2));
  ASSERT_TRUE(tokens);
  tcp::socket a = dialled(tokens->first), b = dialled(tokens->second);
  run_a_while();
  char joined = 0;
  for (tcp::socket* end : {&a, &b}) {
    asio::read(*end, asio::buffer(&joined, 1));
    EXPECT_EQ(joined, kJoined);
  }
  a.non_blocking(true);
  std::string block(1 << 20, 0);
  std::string sent;
  std::error_code error;
  for (int idle = 0; idle < 3;) {  // until the buffers are full
    for (char& each : block)
      each = static_cast<char>((sent.size() + static_cast<std::size_t>(&each - block.data())) % 249);
    const std::size_t count = a.write_some(asio::buffer(block), error);
    if (error)
      ++idle;
    else
      sent.append(block, 0, count), idle = 0;
    run_a_while();
  }
  EXPECT_LT(sent.size(), 40U << 20) << "the kernel's buffers of two connections, and one of the relay";
  std::string got;
  b.non_blocking(true);
  while (got.size() < sent.size()) {
    const std::size_t count = b.read_some(asio::buffer(block), error);
    if (error && error != asio::error::would_block) break;
    if (!error)
      got.append(block, 0, count);
    else
      run_a_while();
  }
  EXPECT_EQ(got, sent);
  b.close();
  run_a_while();
  a.non_blocking(false);
  EXPECT_TRUE(is_closed(a));
  EXPECT_EQ(relay.pairs(), 0U);
}

TEST_F(RelayAlone, ATokenIsGoodOnce) {
  const auto tokens = relay.expect(member(1), member(2));
  tcp::socket unknown = dialled(Token{});
  EXPECT_TRUE(is_closed(unknown));
  tcp::socket a = dialled(tokens->first), again = dialled(tokens->first);
  EXPECT_TRUE(is_closed(again));
  tcp::socket b = dialled(tokens->second);
  run_a_while();
  char joined = 0;
  asio::read(a, asio::buffer(&joined, 1));
  EXPECT_EQ(joined, kJoined) << "the one that came first was joined";
}

class FewPairs : public RelayAlone {
 protected:
  FewPairs() : RelayAlone({3, 2, 1024, Time(0.2), Time(0.2)}) {}
};

TEST_F(FewPairs, AreAllThatItTakes) {
  EXPECT_TRUE(relay.expect(member(1), member(2)));
  EXPECT_TRUE(relay.expect(member(3), member(1)));
  EXPECT_FALSE(relay.expect(member(1), member(4))) << "enough for one member";
  const auto third = relay.expect(member(5), member(6));
  ASSERT_TRUE(third);
  EXPECT_FALSE(relay.expect(member(7), member(8))) << "enough for all";
  tcp::socket a = dialled(third->first);
  // The other side never comes: the pairs expire, and the waiting socket is closed.
  for (int k = 0; k < 400 && relay.pairs() > 0; ++k) run_a_while();
  EXPECT_EQ(relay.pairs(), 0U);
  EXPECT_TRUE(is_closed(a));
  EXPECT_TRUE(relay.expect(member(7), member(8)));
}

TEST_F(FewPairs, AreClosedWhenNothingComes) {
  const auto tokens = relay.expect(member(1), member(2));
  tcp::socket a = dialled(tokens->first), b = dialled(tokens->second);
  for (int k = 0; k < 400 && relay.pairs() > 0; ++k) run_a_while();
  EXPECT_EQ(relay.pairs(), 0U);
}

TEST(RelayWords, AreReadAsTheyAreWritten) {
  const Introduction introduction{MemberId{{1, 2}}, {"10.0.0.1:4000", "lab:1"}};
  const std::string text = coded(introduction);
  EXPECT_EQ(coded(read_introduction(text)), text);
  for (std::size_t i = 0; i < text.size(); ++i)
    EXPECT_THROW(read_introduction(text.substr(0, i)), MalformedMessage);
  EXPECT_THROW(read_introduction(text + "x"), MalformedMessage);
  const std::string relayed = coded(Relayed{MemberId{{3}}, Token{4}});
  EXPECT_EQ(coded(read_relayed(relayed)), relayed);
  EXPECT_THROW(read_relayed(relayed + "x"), MalformedMessage);
  EXPECT_THROW(read_token("short"), MalformedMessage);
  std::string begin = preamble(Token{5});
  std::array<char, kPreambleBytes> bytes{};
  std::ranges::copy(begin, bytes.begin());
  EXPECT_EQ(read_preamble(bytes), Token{5});
  bytes[3] ^= 1;
  EXPECT_THROW(read_preamble(bytes), MalformedMessage);
}

}  // namespace
}  // namespace veche::grid
