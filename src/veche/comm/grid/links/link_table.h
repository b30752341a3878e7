#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/links/connection.h"
#include "veche/comm/grid/relay/relay.h"

namespace veche::grid {

// The implementation of `Links`: the thread, the connections, and which of them is each peer's
// link. Files by task: link_table.cc (lifetime, peers), accepting.cc, dialling.cc, reaching.cc
// (peers that cannot be dialled), greeting.cc (which connection becomes the link).
class LinkTable {
 public:
  LinkTable(const KeyPair& key, std::shared_ptr<Trust> trust, const LinkOptions& options, LinkEvents& events);

  void set_incarnation(std::uint64_t incarnation) { options_.incarnation = incarnation; }
  void set_certificate(const std::string& certificate);
  void start();
  void stop();

  // Any thread.
  const std::string& local_address() const { return local_address_; }
  std::vector<std::string> addresses() const;
  void add_address(const std::string& address);
  const LinkOptions& options() const { return options_; }
  MessagePool& pool() { return pool_; }
  asio::io_context& context() { return context_; }
  void after(Time delay, std::function<void()> what);
  std::shared_ptr<Outbox> outbox(const MemberId& peer);
  std::map<MemberId, std::shared_ptr<Outbox>> outboxes();
  bool is_up(const MemberId& peer) const;
  std::vector<LinkState> states() const;
  Time longest_round_trip() const;
  void set_heartbeat(std::string text);

  // Links thread only, like everything below.
  void want(const MemberId& peer, const std::vector<std::string>& addresses);
  void meet(const std::vector<std::string>& addresses);
  bool lacks() const;
  void forget(const MemberId& peer, const std::string& why);
  void close(const MemberId& peer, const std::string& why);
  void ask(const MemberId& to, std::string request, Answer on_answer);

  // For connections, which share this table and report to it.
  LinkEvents& events() { return events_; }
  const MemberId& me() const { return me_; }
  std::string hello();
  std::string heartbeat();
  Time heartbeat_every() const;
  // Both sides have greeted. True: the connection shall be the link, as far as this side decides.
  bool greeted(Connection& connection, const Hello& hello);
  // The number of the next message expected from the peer.
  std::uint64_t expected(const MemberId& id, std::uint64_t incarnation);
  // Both sides want the connection: it is the link from now on. Returns the peer's outbox.
  std::shared_ptr<Outbox> adopt(const std::shared_ptr<Connection>& connection, const Hello& hello,
                                std::uint64_t peer_expects);
  // A message has arrived whole. False: it had arrived before.
  bool arrived(const MemberId& id, std::uint64_t number);
  void answered(const MemberId& id, std::uint64_t number, std::optional<Message> answer);
  // Joins a connection with the other one that shows this token.
  void relay(const Token& token, asio::ip::tcp::socket socket);
  // Answers requests to reach a member, which the table handles itself. False: it is another
  // request.
  bool reaches(const MemberId& from, Service service, const std::string& text, const Answer& answer);
  void measured(Connection& connection, Time round_trip, Time silent);
  void closed(const std::shared_ptr<Connection>& connection, const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstRetry{50};

  struct Peer {
    std::shared_ptr<Connection> link;
    std::uint64_t incarnation = 0;
    std::uint64_t expected = 0;  // the first message not yet received
    Hello hello;
    std::map<std::uint64_t, Answer> asked;

    bool wanted = false;
    std::vector<std::string> addresses;
    std::size_t next_way = 0;
    bool all_tried = false;  // all addresses were tried since the first dial
    std::shared_ptr<Connection> dialling;
    const Connection* chosen = nullptr;  // offered as the link, not yet answered
    // Of the last link:
    asio::ip::address host;
    std::string reached;  // the address that was dialled
    bool was_relayed = false;
    Clock::time_point next_dial = {};
    Clock::duration retry = kFirstRetry;
  };

  std::shared_ptr<SSL_CTX> tls() const;
  void wake(const MemberId& id);
  void publish(Connection& connection);
  static void fail_questions(Peer& peer);
  static bool was_refused_by_its_host(const Connection& connection, const Peer& peer);

  asio::awaitable<void> accept();
  bool is_flooded(const asio::ip::address& from) const;
  std::optional<std::string> refusal(X509* shown, STACK_OF(X509) * others,
                                     const std::optional<MemberId>& wanted);

  asio::awaitable<void> dial();
  void dial(const MemberId& id, Peer& peer);
  void connect(const MemberId& id, Peer& peer, Route route);
  void retry_later(Peer& peer);
  void dial_again_after(Peer& peer, Time delay);
  std::vector<std::string> addresses_of(const Peer& peer) const;
  std::vector<MemberId> linked_besides(const MemberId& id, bool relays) const;

  void ask_to_be_dialled(const MemberId& id, Peer& peer, std::vector<MemberId> helpers);
  void ask_to_be_relayed(const MemberId& id, Peer& peer, const MemberId& relay);
  bool may_be_introduced(const MemberId& id) const;
  bool is_linked(const MemberId& id) const;

  asio::io_context context_{1};  // declared first: its users are destroyed before it
  const KeyPair key_;
  const MemberId me_;
  const std::shared_ptr<Trust> trust_;
  LinkOptions options_;
  std::string local_address_;
  LinkEvents& events_;
  MessagePool pool_;

  mutable Mutex mutex_;
  std::vector<std::string> addresses_ VECHE_GUARDED_BY(mutex_);
  std::shared_ptr<SSL_CTX> tls_ VECHE_GUARDED_BY(mutex_);
  std::map<MemberId, std::shared_ptr<Outbox>> outboxes_ VECHE_GUARDED_BY(mutex_);  // each then guards itself
  std::map<MemberId, LinkState> published_ VECHE_GUARDED_BY(mutex_);
  std::string heartbeat_ VECHE_GUARDED_BY(mutex_);

  // Links thread only.
  asio::ip::tcp::acceptor acceptor_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer search_timer_{context_};
  bool stopping_ = false;
  std::map<MemberId, Peer> peers_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::map<const Connection*, asio::ip::address> half_open_;
  Relay relay_;
  std::map<std::string, Clock::time_point> met_;  // hinted addresses and when they were tried
  std::uint64_t questions_ = 0;
  std::minstd_rand random_{std::random_device{}()};

  std::jthread thread_;  // declared last
};

}  // namespace veche::grid
