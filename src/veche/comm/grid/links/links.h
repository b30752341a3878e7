#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/trust.h"
#include "veche/comm/grid/links/frames.h"
#include "veche/comm/grid/relay/relay_limits.h"
#include "veche/endpoint.h"

namespace veche::grid {

// The sender of a request. A newcomer has shown a key but no certificate; `session` is for its
// proof.
struct Requester {
  MemberId id;
  bool is_newcomer = false;
  std::string session;
  PublicKey key = {};
};
// Call once, from any thread; nullopt: no answer.
using Answer = std::function<void(std::optional<Message>)>;

class LinkTable;

// The recipient of a message between nodes. With an incarnation, the message waits for that one,
// even if an earlier one was linked.
struct Recipient {
  Recipient(const MemberId& member, std::uint64_t of = 0) : id(member), incarnation(of) {}
  MemberId id;
  std::uint64_t incarnation;  // 0: the one linked now, or next
};

// Events of the links. All are called on the links thread and must not block.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void up(const MemberId& peer, const Hello& hello) = 0;
  // Messages that had not arrived are kept and sent when the link to the same incarnation of the
  // peer is restored.
  virtual void down(const MemberId& peer, const std::string& why) = 0;
  // An address of a wanted peer refused the connection.
  virtual void refused(const MemberId& /*peer*/) {}
  // A handler of these events, or of `post`, has thrown.
  virtual void failed(const std::string& /*why*/) {}
  virtual void word(const MemberId& from, std::string text) = 0;
  // A complete message, in sending order; or the notice that the node has ended.
  virtual void data(const MemberId& from, const DataHead& head, bool ended, Message message) = 0;
  virtual void request(const Requester& requester, Service service, std::string text, Answer answer) = 0;
  virtual void heartbeat(const MemberId& from, const std::string& text) = 0;
};

struct LinkOptions {
  std::string listen = "127.0.0.1:0";
  int listening = -1;  // an already listening socket; -1: create one
  std::uint64_t incarnation = 1;
  std::string name;
  std::uint32_t nodes = 1;
  std::vector<std::string> addresses;  // empty: derived from `listen`
  bool relay = false;                  // relays for members that cannot reach each other
  RelayLimits relay_limits;
  Time heartbeat{0.4};
  Time silence{3};             // closes a link after this silence; more if longer gaps were seen on it
  Time stall{6};               // longest time that a peer may read nothing
  Time connect{2};             // per address
  Time greeting{5};            // from connect to both hellos
  std::size_t half_open = 64;  // connections that have not greeted
  std::size_t half_open_of_address = 16;
  std::uint64_t window = 32U << 20;   // bytes of messages in flight
  std::uint64_t backlog = 64U << 20;  // bytes of queued messages; senders block beyond it
};

struct LinkState {
  MemberId peer;
  Hello hello;
  std::string address;   // of the peer or its relay
  bool dialled = false;  // from here, so others may reach it there too
  bool up = false;
  Time silent{0};      // since the last received byte
  Time round_trip{0};  // of the last heartbeat
  std::uint64_t sent = 0, received = 0;
};

// The links of this member to other members: one per peer, whichever side dials, encrypted and
// mutually authenticated by keys. Its own thread does all I/O. Any thread may call, unless noted.
class Links {
 public:
  // Listens at once; throws RequestError if it cannot. Events start after `start`.
  Links(const KeyPair& key, std::shared_ptr<Trust> trust, const std::string& certificate,
        const LinkOptions& options, LinkEvents& events);
  ~Links();
  void start();
  // Closes all links. No event comes after it returns.
  void stop();

  std::vector<std::string> addresses() const;
  // Adds an address at which other members may reach this one: announced to all, and preferred from
  // now on.
  void add_address(const std::string& address);
  std::string local_address() const;  // for processes of this host
  void set_certificate(const std::string& certificate);
  void set_incarnation(std::uint64_t incarnation);  // before `start`

  // Keeps dialling the peer until it is linked, also at the addresses that the peer announces. If
  // none answers, linked members are asked to make it dial, then relays are used.
  void want(const MemberId& peer, const std::vector<std::string>& addresses);
  // Hints of addresses where members may be: a host that shows a member's certificate is linked.
  // Hints may come from anywhere, so they are tried only while a member is missing, a few at a
  // time.
  void meet(const std::vector<std::string>& addresses);
  // Whether a wanted peer has no link. Links thread only.
  bool lacks() const;
  // The peer is no longer wanted; its queued messages are dropped.
  void forget(const MemberId& peer, const std::string& why);
  // Drops queued messages of views before this one.
  void forget_views_before(std::uint64_t view);
  // Closes the link; the peer may come back.
  void close(const MemberId& peer, const std::string& why);

  // Sends a message between nodes. Blocks while the backlog is full, as long as `go_on` returns
  // true.
  void send(const Recipient& to, const DataHead& head, Message message,
            const std::function<bool()>& go_on = {});
  void send_ended(const Recipient& to, const DataHead& head);
  // A message of the membership protocol; dropped without a link.
  void tell(const MemberId& to, std::string word);
  // Returns nullopt without a link, without an answer within the limit, or if the peer has no
  // answer. Not from the links thread.
  std::optional<Message> ask(const MemberId& to, Service service, std::string_view text, Time limit);
  // The same; `told` is called on the links thread.
  void ask(const MemberId& to, Service service, std::string_view text, Answer told);
  // Waits until all earlier messages have arrived. Returns false after the limit, or if a peer has
  // no link. Not from the links thread.
  bool flush(Time limit);
  // The text of heartbeats.
  void set_heartbeat(std::string text);

  bool is_up(const MemberId& peer) const;
  std::vector<LinkState> states() const;
  Time longest_round_trip() const;  // over all active links
  MessagePool& pool();
  // Runs a function on the links thread, soon or after a delay; never after destruction.
  void post(std::function<void()> what);
  void after(Time delay, std::function<void()> what);

 private:
  std::shared_ptr<LinkTable> state_;
};

// Asks one question over a connection of its own, for a machine without links. `make` receives the
// session and the host's key. Throws RequestError with the last reason if no address answers.
struct OneQuestion {
  std::vector<std::string> addresses;
  std::shared_ptr<SSL_CTX> context;
  std::function<std::optional<std::string>(X509* certificate, STACK_OF(X509) * shown)> verify;
  Service service = Service::join;
  std::function<std::string(const std::string& session, const MemberId& host)> make;
  Time limit{10};
  Time while_busy{0};  // a busy or silent host is asked again for this long
};
Message ask_once(const OneQuestion& question);

}  // namespace veche::grid
