#include "veche/comm/grid/links/connection.h"

#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/link_table.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::chrono::milliseconds kTick{100};

}  // namespace

Connection::Connection(LinkTable& owner, asio::ip::tcp::socket socket, std::shared_ptr<SSL_CTX> context,
                       Verify verify, Route route)
    : owner_(owner),
      stream_(std::move(socket), std::move(context), std::move(verify)),
      wake_(stream_.socket().get_executor()),
      ticks_(stream_.socket().get_executor()),
      route_(std::move(route)) {}

void Connection::start() {
  const auto executor = stream_.socket().get_executor();
  const auto self = shared_from_this();
  asio::co_spawn(
      executor, [self] { return self->live(); }, asio::detached);
  asio::co_spawn(
      executor, [self] { return self->watch(); }, asio::detached);
}

void Connection::close(const std::string& why) {
  if (closed_) return;
  closed_ = true;
  stream_.close();
  wake_.cancel();
  ticks_.cancel();
  owner_.closed(shared_from_this(), why);
}

void Connection::say_bye(const std::string& why) {
  if (closed_) return;
  if (!is_link()) return close(why);
  bye_ = why;
  outbox_->put(frame(Kind::bye, 0, std::string_view(why).substr(0, 1000)));
}

asio::awaitable<void> Connection::live() {
  const auto self = shared_from_this();
  std::string why = "the connection was closed";
  try {
    const bool was_dialled = route_.addresses.empty();
    if (!was_dialled)
      co_await connect();
    else if (co_await handed_to_relay())
      throw MalformedMessage("the relay has joined it with another connection");
    std::error_code ignored;
    const auto remote = stream_.socket().remote_endpoint(ignored);
    host_ = remote.address();
    address_ = route_.relay ? "relay " + short_name(*route_.relay)
                            : host_.to_string() + ":" + std::to_string(remote.port());
    if (route_.relay) co_await show_token();
    co_await stream_.handshake(route_.as_server);
    peer_ = id_of(stream_.peer());
    if (was_dialled && (peer_ == owner_.me() || is_newcomer(stream_.peer()))) {
      co_await answer_one();
    } else {
      const bool adopted = co_await greet();
      if (adopted) {
        asio::co_spawn(
            stream_.socket().get_executor(), [self] { return self->write_frames(); }, asio::detached);
        co_await read_frames();
      }
    }
  } catch (const std::system_error& error) {
    why = error.code().message();
  } catch (const std::exception& error) {
    why = error.what();
  }
  close(why);
}

asio::awaitable<void> Connection::connect() {
  std::string why;
  bool refused = false;
  for (const std::string& address : route_.addresses) {
    connecting_until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(owner_.options().connect);
    try {
      co_await connect(address);
      connecting_until_.reset();
      made_ = Clock::now();
      co_return;
    } catch (const std::system_error& error) {
      refused = error.code() == asio::error::connection_refused;
      why = connecting_until_ ? error.code().message() : "it does not answer";
    } catch (const MalformedMessage& error) {  // not an address
      why = error.what();
    }
    std::error_code ignored;
    stream_.socket().close(ignored);
    if (closed_) break;
  }
  connecting_until_.reset();
  refused_ = refused;
  throw MalformedMessage(why);
}

asio::awaitable<void> Connection::connect(const std::string& address) {
  const Address parts = parse_address(address);
  if (parts.number) {
    const asio::ip::tcp::endpoint endpoint(*parts.number, parts.port);
    co_await stream_.socket().async_connect(endpoint, asio::use_awaitable);
    co_return;
  }
  asio::ip::tcp::resolver resolver(stream_.socket().get_executor());
  const std::string port = std::to_string(parts.port);
  const auto found = co_await resolver.async_resolve(parts.host, port, asio::use_awaitable);
  if (closed_) throw MalformedMessage("too late");
  co_await asio::async_connect(stream_.socket(), found, asio::use_awaitable);
}

// A client that begins with a relay token is not a peer of this member.
asio::awaitable<bool> Connection::handed_to_relay() {
  auto& socket = stream_.socket();
  co_await socket.async_wait(asio::ip::tcp::socket::wait_read, asio::use_awaitable);
  char first = 0;
  if (recv(socket.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 || first != kPreambleBegin)
    co_return false;
  std::array<char, kPreambleBytes> bytes{};
  co_await asio::async_read(socket, asio::buffer(bytes), asio::use_awaitable);
  owner_.relay(read_preamble(bytes), stream_.release());
  co_return true;
}

asio::awaitable<void> Connection::show_token() {
  const std::string mine = preamble(route_.token);
  co_await asio::async_write(stream_.socket(), asio::buffer(mine), asio::use_awaitable);
  char answer = 0;
  co_await asio::async_read(stream_.socket(), asio::buffer(&answer, 1), asio::use_awaitable);
  if (answer != kJoined) throw MalformedMessage("the relay does not say that both are there");
}

asio::awaitable<void> Connection::answer_one() {
  const bool newcomer = peer_ != owner_.me() || is_newcomer(stream_.peer());
  const Header header = co_await next_header();
  if (header.kind != Kind::request || header.length > kLongestFromStranger)
    throw MalformedMessage("it is no member and does not ask to be one");
  const std::string text = co_await read_text(header.length);
  const Service service = read_service(text);
  if (service != (newcomer ? Service::join : Service::console))
    throw MalformedMessage("it sent a request that it may not send");
  Requester requester{peer_, newcomer, stream_.session(), {}};
  std::size_t length = requester.key.size();
  EVP_PKEY_get_raw_public_key(X509_get0_pubkey(stream_.peer()), requester.key.data(), &length);
  struct Waiting {
    std::optional<Message> answer;
    bool done = false;
  };
  const auto waiting = std::make_shared<Waiting>();
  const auto executor = stream_.socket().get_executor();
  const std::weak_ptr<Connection> weak = shared_from_this();
  owner_.events().request(requester, service, text.substr(1), [=](std::optional<Message> answer) {
    asio::post(executor, [=, answer = std::move(answer)] {
      waiting->answer = answer;
      waiting->done = true;
      if (const auto self = weak.lock()) self->wake_.cancel();
    });
  });
  while (!waiting->done && !closed_) {
    std::error_code woken;
    wake_.expires_after(std::chrono::seconds(1));
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (!waiting->answer) throw MalformedMessage("it got no answer");
  const auto bytes = waiting->answer->bytes();
  const std::string all = frame(Kind::answer, header.number,
                                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  co_await stream_.write(all);
  // The client closes the connection after reading the answer.
  std::array<char, 1> end{};
  co_await stream_.read(end);
}

asio::awaitable<bool> Connection::greet() {
  const std::string mine = frame(Kind::hello, 0, owner_.hello());
  co_await stream_.write(mine);
  const Header header = co_await next_header();
  if (header.kind != Kind::hello) throw MalformedMessage("it does not greet");
  const std::string theirs = co_await read_text(header.length);
  const Hello hello = read_hello(theirs);
  if (!owner_.greeted(*this, hello)) {
    const std::string bye = frame(Kind::bye, 0, "there is a link already");
    co_await stream_.write(bye);
    throw MalformedMessage("there is a link already");
  }
  // The member with the lower id decides: it sends `use` first.
  const std::string use = frame(Kind::use, owner_.expected(peer_, hello.incarnation));
  const bool first = owner_.me() < peer_;
  if (first) co_await stream_.write(use);
  const Header agreed = co_await next_header();
  const std::string words = co_await read_text(agreed.length);
  if (agreed.kind == Kind::bye) throw MalformedMessage(words);
  if (agreed.kind != Kind::use) throw MalformedMessage("it does not say whether this is the link");
  if (!first) co_await stream_.write(use);
  outbox_ = owner_.adopt(shared_from_this(), hello, agreed.number);
  co_return outbox_ != nullptr;
}

asio::awaitable<void> Connection::watch() {
  const auto self = shared_from_this();
  while (!closed_) {
    std::error_code woken;
    ticks_.expires_after(kTick);
    co_await ticks_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (closed_) co_return;
    const auto now = Clock::now();
    if (connecting_until_) {
      std::error_code ignored;
      if (now > *connecting_until_) {  // try the next address
        connecting_until_.reset();
        stream_.socket().close(ignored);
      }
    } else if (is_link())
      check_link(now);
    else if (now > made_ + std::chrono::duration_cast<Clock::duration>(owner_.options().greeting))
      close("it did not greet in time");
  }
}

void Connection::check_link(Clock::time_point now) {
  const LinkOptions& options = owner_.options();
  // After this process was suspended, received data is read first, before silence counts.
  if (now - last_tick_ > std::chrono::seconds(1)) excused_until_ = now + std::chrono::seconds(1);
  last_tick_ = now;
  if (const auto read = stream_.last_read(); read != last_seen_read_) {
    if (last_seen_read_ != Clock::time_point{})
      longest_gap_ = std::max<Time>(longest_gap_ * 0.995, read - last_seen_read_);
    last_seen_read_ = read;
  }
  const Time silent = now - last_seen_read_;
  const Time limit = std::clamp<Time>(3 * longest_gap_, options.silence, 3 * options.silence);
  const auto waits = stream_.write_waits();
  if (now > excused_until_) {
    if (silent > limit)
      return close("it was silent for " + std::to_string(static_cast<int>(silent.count())) + " s");
    if (waits && now - *waits > options.stall)
      return close("it has read nothing for " + std::to_string(static_cast<int>(options.stall.count())) +
                   " s");
  }
  if (owes_acknowledgement_) {
    owes_acknowledgement_ = false;
    not_acknowledged_ = 0;
    outbox_->put(frame(Kind::ack, owner_.expected(peer_, 0)));
  }
  if (const Time every = owner_.heartbeat_every(); now - last_heartbeat_ >= every) {
    last_heartbeat_ = now;
    if (!waits || now - *waits < every) outbox_->put(frame(Kind::heartbeat, ticks_now(), owner_.heartbeat()));
  }
  owner_.measured(*this, round_trip_, silent);
}

}  // namespace veche::grid
