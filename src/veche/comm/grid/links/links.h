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

// Somebody who asks. A newcomer has shown a key but no certificate; `session` is for its proof.
struct Asker {
  MemberId id;
  bool is_newcomer = false;
  std::string session;
  PublicKey key = {};
};
// Once, by any thread; nothing: there is no answer.
using Answer = std::function<void(std::optional<Message>)>;

class LinkTable;

// Whom a message between nodes is for. With an incarnation it waits for that one, also where an earlier one
// was linked before.
struct Recipient {
  Recipient(const MemberId& member, std::uint64_t of = 0) : id(member), incarnation(of) {}
  MemberId id;
  std::uint64_t incarnation;  // 0: the one that is linked, or is linked next
};

// What links tell. All are called by the links' thread and must not wait.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void up(const MemberId& peer, const Hello& hello) = 0;
  // Messages between nodes that had not arrived are kept: they go on when the link is made again with the
  // same incarnation of the peer.
  virtual void down(const MemberId& peer, const std::string& why) = 0;
  // Nobody listens at an address of a peer that is wanted.
  virtual void refused(const MemberId& /*peer*/) {}
  // What was done for one of these events, or by `post`, has thrown.
  virtual void failed(const std::string& /*why*/) {}
  virtual void word(const MemberId& from, std::string text) = 0;
  // A whole message, in the order of sending; or that the node has ended.
  virtual void data(const MemberId& from, const DataHead& head, bool ended, Message message) = 0;
  virtual void request(const Asker& asker, Service service, std::string text, Answer answer) = 0;
  virtual void heartbeat(const MemberId& from, const std::string& text) = 0;
};

struct LinkOptions {
  std::string listen = "127.0.0.1:0";
  int listening = -1;  // a socket that listens already; else one is made
  std::uint64_t incarnation = 1;
  std::string name;
  std::uint32_t nodes = 1;
  std::vector<std::string> addresses;  // empty: what `listen` says
  bool relay = false;                  // joins others that cannot reach each other
  RelayLimits relay_limits;
  Time heartbeat{0.4};
  Time silence{3};             // then a link is closed; more where that much was seen on it before
  Time stall{6};               // that a peer may read nothing
  Time connect{2};             // to one address
  Time greeting{5};            // from the connection to both hellos
  std::size_t half_open = 64;  // connections that have not greeted
  std::size_t half_open_of_address = 16;
  std::uint64_t window = 32U << 20;   // bytes of messages on their way
  std::uint64_t backlog = 64U << 20;  // bytes of messages that wait: then senders do
};

struct LinkState {
  MemberId peer;
  Hello hello;
  std::string address;   // or who relays
  bool dialled = false;  // from here: others may reach it there too
  bool up = false;
  Time silent{0};      // since the last byte came
  Time round_trip{0};  // of the last heartbeat
  std::uint64_t sent = 0, received = 0;
};

// The links of this member to others: one each, whoever dials, encrypted, both sides known by their keys.
// One thread of its own does all that goes in and out. Any thread, unless said otherwise.
class Links {
 public:
  // Listens at once: throws RequestError where it cannot. Events come after `start`.
  Links(const KeyPair& key, std::shared_ptr<Trust> trust, const std::string& certificate,
        const LinkOptions& options, LinkEvents& events);
  ~Links();
  void start();
  // Closes all; when it returns no event comes any more.
  void stop();

  std::vector<std::string> addresses() const;
  // Others may reach it there too: told to all, and before the other addresses from now on.
  void add_address(const std::string& address);
  std::string local_address() const;  // by which processes of this host reach it
  void set_certificate(const std::string& certificate);
  void set_incarnation(std::uint64_t incarnation);  // before `start`

  // A link to it is wanted: dialled again and again until it is there. The peer's own words about its
  // addresses are used as well. Where none of them answers, those who are linked are asked to let it dial,
  // then those who relay.
  void want(const MemberId& peer, const std::vector<std::string>& addresses);
  // Members may be there: whoever shows a member's certificate is linked. Hints from anywhere, so only while
  // somebody is missed, and a few at a time.
  void meet(const std::vector<std::string>& addresses);
  // Somebody who is wanted has no link. The links' thread.
  bool lacks() const;
  // It is not wanted any more; what was to be sent to it is forgotten.
  void forget(const MemberId& peer, const std::string& why);
  // What still waits to be sent of views before this one is forgotten.
  void forget_views_before(std::uint64_t view);
  // Closes the link; it may come back.
  void close(const MemberId& peer, const std::string& why);

  // A message between nodes. Waits while too much waits already, as long as `go_on` says so.
  void send(const Recipient& to, const DataHead& head, Message message,
            const std::function<bool()>& go_on = {});
  void send_ended(const Recipient& to, const DataHead& head);
  // Of the agreement on views; dropped where there is no link.
  void tell(const MemberId& to, std::string word);
  // Nothing: no link, no answer within the limit, or the answer that there is none. Not by the links' thread.
  std::optional<Message> ask(const MemberId& to, Service service, std::string_view text, Time limit);
  // The same, told by the links' thread.
  void ask(const MemberId& to, Service service, std::string_view text, Answer told);
  // Until all messages sent before have arrived; false: not within the limit, or somebody has no link. Not
  // by the links' thread.
  bool flush(Time limit);
  // What heartbeats tell.
  void set_heartbeat(std::string text);

  bool is_up(const MemberId& peer) const;
  std::vector<LinkState> states() const;
  Time longest_round_trip() const;  // of the links that are up
  MessagePool& pool();
  // Done by the links' thread, soon or after a while. Not any more when this is destroyed.
  void post(std::function<void()> what);
  void after(Time delay, std::function<void()> what);

 private:
  std::shared_ptr<LinkTable> state_;
};

// Asks somebody once, over a connection of its own: who has no links yet. `make` gets the session and the
// host's key. Throws RequestError where nobody answers at any of the addresses, with the last reason.
struct OneQuestion {
  std::vector<std::string> addresses;
  std::shared_ptr<SSL_CTX> context;
  std::function<std::optional<std::string>(X509* certificate, STACK_OF(X509) * shown)> verify;
  Service service = Service::join;
  std::function<std::string(const std::string& session, const MemberId& host)> make;
  Time limit{10};
  Time while_busy{
      0};  // who takes no more connections, or does not answer by then, is asked again for so long
};
Message ask_once(const OneQuestion& question);

}  // namespace veche::grid
