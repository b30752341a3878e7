#pragma once

#include <asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/links/outbox.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/comm/grid/relay/relay_messages.h"

namespace veche::grid {

class LinkTable;

// How a connection reaches its peer.
struct Route {
  std::vector<std::string> addresses;  // to dial in turn; empty: the peer dialled
  std::optional<MemberId> relay;       // the member that relays it
  Token token = {};                    // for the relay
  bool as_server = true;               // TLS role: the side that wanted the link is the client
};

// One encrypted connection, from its first byte until it is closed. Links thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(LinkTable& owner, asio::ip::tcp::socket socket, std::shared_ptr<SSL_CTX> context, Verify verify,
             Route route);

  void start();
  void close(const std::string& why);
  // Sends the reason to the peer first.
  void say_bye(const std::string& why);
  void wake() { wake_.cancel(); }

  const MemberId& peer() const { return peer_; }
  const std::string& address() const { return address_; }
  const Route& route() const { return route_; }
  // The address of the other end, as the kernel sees it.
  const asio::ip::address& host() const { return host_; }
  bool was_refused() const { return refused_; }
  bool is_link() const { return outbox_ != nullptr; }
  TlsStream& stream() { return stream_; }

 private:
  using Clock = std::chrono::steady_clock;

  asio::awaitable<void> live();
  asio::awaitable<void> connect();
  asio::awaitable<void> connect(const std::string& address);
  asio::awaitable<bool> handed_to_relay();
  asio::awaitable<void> show_token();
  asio::awaitable<void> answer_one();  // to a newcomer, or to this member itself
  asio::awaitable<bool> greet();
  asio::awaitable<void> read_frames();
  asio::awaitable<void> read_data(Header header);
  asio::awaitable<std::string> read_text(std::uint32_t length);
  asio::awaitable<Header> next_header();
  asio::awaitable<void> write_frames();
  asio::awaitable<void> write_piece();
  asio::awaitable<void> watch();
  void handle_text(const Header& header, std::string text);
  void check_link(Clock::time_point now);
  // Clock for heartbeats; only this process reads it.
  static std::uint64_t ticks_now() {
    return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  }

  LinkTable& owner_;
  TlsStream stream_;
  asio::steady_timer wake_;
  asio::steady_timer ticks_;
  const Route route_;
  std::optional<Clock::time_point> connecting_until_;
  Clock::time_point made_ = Clock::now();
  MemberId peer_;
  std::string address_;
  asio::ip::address host_;
  bool closed_ = false;
  bool refused_ = false;  // connection refused: no listener there
  std::string bye_;       // the connection is closed after sending it

  // State as the link.
  std::shared_ptr<Outbox> outbox_;
  std::optional<Outbox::Item> sending_;
  std::uint64_t sent_ = 0;  // bytes of the current message
  struct Arriving {
    Header header;
    DataHead head;
    Message message;
    std::uint64_t have = 0;
  };
  std::optional<Arriving> arriving_;
  std::uint64_t not_acknowledged_ = 0;  // bytes received
  bool owes_acknowledgement_ = false;
  Clock::time_point last_heartbeat_ = {};
  Clock::time_point last_tick_ = Clock::now(), excused_until_ = {}, last_seen_read_ = {};
  Time longest_gap_{0}, round_trip_{0};
};

}  // namespace veche::grid
