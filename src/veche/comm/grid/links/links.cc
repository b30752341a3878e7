#include "veche/comm/grid/links/links.h"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <future>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "veche/comm/grid/coding.h"
#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/connection.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

using Clock = std::chrono::steady_clock;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kLookAround{20};
constexpr std::chrono::milliseconds kFirstRetry{50}, kLastRetry{2000};
// Who has the higher id lets the other dial first: else they would meet half-way every time.
constexpr std::chrono::milliseconds kAfterYou{300};
// A link that has been heard of so lately is not replaced by another to the same peer.
constexpr std::chrono::milliseconds kFresh{1500};

tcp::acceptor listen_at(asio::io_context& context, const LinkOptions& options) {
  tcp::acceptor acceptor(context);
  if (options.listening >= 0) {
    acceptor.assign(tcp::v4(), options.listening);
    return acceptor;
  }
  try {
    const Address address = parse_address(options.listen);
    if (!address.number) throw Damaged("'" + options.listen + "' must name this host by its number");
    const tcp::endpoint endpoint(*address.number, address.port);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen();
  } catch (const std::exception& error) {
    throw RequestError("nobody can be listened to at " + options.listen + ": " + error.what());
  }
  return acceptor;
}

}  // namespace

class Links::State : public ConnectionOwner {
 public:
  State(const KeyPair& key, std::shared_ptr<Trust> trust, const LinkOptions& options, LinkEvents& events)
      : key_(key),
        me_(key.id()),
        trust_(std::move(trust)),
        options_(options),
        events_(events),
        acceptor_(listen_at(context_, options)),
        work_(context_.get_executor()) {
    const auto own = own_addresses(acceptor_.local_endpoint().address(), acceptor_.local_endpoint().port());
    if (!own.empty()) local_address_ = own.back();
    if (options_.addresses.empty()) options_.addresses = own;
  }

  void set_incarnation(std::uint64_t incarnation) { options_.incarnation = incarnation; }
  void set_certificate(const std::string& certificate) {
    std::vector<std::string> proofs = trust_->warrants();
    proofs.push_back(trust_->root());
    // Only what proves this one: its inviter's warrant.
    const auto own = read_certificate(certificate);
    std::erase_if(proofs, [&](const std::string& proof) {
      const auto read = read_certificate(proof);
      return proof != trust_->root() && (!read || X509_NAME_cmp(X509_get_issuer_name(own.get()),
                                                                X509_get_subject_name(read.get())) != 0);
    });
    auto made = make_context(key_, certificate, proofs);
    const std::lock_guard lock(mutex_);
    tls_ = std::move(made);
  }

  void start() {
    asio::co_spawn(
        context_, [this] { return accept(); }, asio::detached);
    asio::co_spawn(
        context_, [this] { return dial(); }, asio::detached);
    thread_ = std::jthread([this] {
      block_broken_pipes();
      for (bool done = false; !done;) {
        try {
          context_.run();
          done = true;
        } catch (const std::exception& error) {
          events_.failed(error.what());
        }
      }
    });
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      stopping_ = true;
      std::error_code ignored;
      acceptor_.close(ignored);
      look_around_.cancel();
      const auto all = connections_;
      for (const auto& connection : all) connection->close("this member closes its links");
      peers_.clear();
      work_.reset();
    });
    // What is left are the ends of coroutines; a name that is being looked up is not waited for.
    asio::post(context_, [this] { after(Time(0.2), [this] { context_.stop(); }); });
    thread_.join();
  }

  // Any thread.
  const std::string& local_address() const { return local_address_; }
  const LinkOptions& options() const override { return options_; }
  MessagePool& pool() override { return pool_; }
  asio::io_context& context() { return context_; }
  void after(Time delay, std::function<void()> what) {
    auto timer = std::make_shared<asio::steady_timer>(context_);
    timer->expires_after(std::chrono::duration_cast<Clock::duration>(delay));
    timer->async_wait([timer, what = std::move(what)](std::error_code error) {
      if (!error) what();
    });
  }
  std::shared_ptr<Outbox> outbox(const MemberId& peer) {
    const std::lock_guard lock(mutex_);
    auto& box = outboxes_[peer];
    if (!box)
      box = std::make_shared<Outbox>([this, peer] { asio::post(context_, [this, peer] { wake(peer); }); });
    return box;
  }
  std::map<MemberId, std::shared_ptr<Outbox>> outboxes() {
    const std::lock_guard lock(mutex_);
    return outboxes_;
  }
  bool is_up(const MemberId& peer) const {
    const std::lock_guard lock(mutex_);
    const auto found = published_.find(peer);
    return found != published_.end() && found->second.up;
  }
  std::vector<LinkState> states() const {
    const std::lock_guard lock(mutex_);
    std::vector<LinkState> all;
    for (const auto& [peer, state] : published_) all.push_back(state);
    return all;
  }
  void set_heartbeat(std::string text) {
    const std::lock_guard lock(mutex_);
    heartbeat_ = std::move(text);
  }

  // The links' thread, as all that follows.
  void want(const MemberId& peer, const std::vector<std::string>& addresses) {
    if (peer == me_ || stopping_) return;
    Peer& it = peers_[peer];
    if (!it.wanted) it.next_dial = Clock::now() + (me_ < peer ? Clock::duration::zero() : kAfterYou);
    it.wanted = true;
    for (const std::string& address : addresses)
      if (std::ranges::find(it.addresses, address) == it.addresses.end()) it.addresses.push_back(address);
    look_around_.cancel();
  }
  void forget(const MemberId& peer, const std::string& why) {
    const auto found = peers_.find(peer);
    if (found == peers_.end()) return;
    found->second.wanted = false;
    outbox(peer)->forget(false);
    if (found->second.link) found->second.link->say_bye(why);
  }
  void close(const MemberId& peer, const std::string& why) {
    const auto all = connections_;
    for (const auto& connection : all)
      if (connection->peer() == peer) connection->close(why);
  }
  void ask(const MemberId& to, std::string request, Answer told) {
    const auto found = peers_.find(to);
    if (found == peers_.end() || !found->second.link) return told({});
    const std::uint64_t number = ++questions_;
    found->second.asked.emplace(number, std::move(told));
    outbox(to)->put(coded(Header{Kind::request, 0, static_cast<std::uint32_t>(request.size()), number}) +
                    request);
  }

 private:
  struct Peer {
    std::shared_ptr<Connection> link;
    std::uint64_t incarnation = 0;
    std::uint64_t expected = 0;  // the first message that has not come
    Hello hello;
    std::map<std::uint64_t, Answer> asked;

    bool wanted = false;
    std::vector<std::string> addresses;
    std::size_t next_address = 0;
    std::shared_ptr<Connection> dialling;
    const Connection* chosen = nullptr;  // was offered as the link, and not answered yet
    Clock::time_point next_dial = {};
    Clock::duration retry = kFirstRetry;
  };

  std::shared_ptr<SSL_CTX> tls() const {
    const std::lock_guard lock(mutex_);
    return tls_;
  }

  asio::awaitable<void> accept() {
    while (!stopping_) {
      std::error_code error;
      tcp::socket socket(context_);
      co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (stopping_) co_return;
      if (error) {  // no more descriptors, for a while
        asio::steady_timer timer(context_, std::chrono::milliseconds(100));
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      const auto remote = socket.remote_endpoint(error);
      if (error || is_flooded(remote.address())) continue;  // which closes it
      const auto connection = std::make_shared<Connection>(
          *this, std::move(socket), tls(),
          [this](X509* shown, STACK_OF(X509) * others) { return refusal(shown, others, {}); }, std::nullopt);
      connections_.insert(connection);
      half_open_.emplace(connection.get(), remote.address());
      connection->start("");
    }
  }

  bool is_flooded(const asio::ip::address& from) const {
    const auto same =
        std::ranges::count_if(half_open_, [&](const auto& each) { return each.second == from; });
    return half_open_.size() >= options_.half_open ||
           static_cast<std::size_t>(same) >= options_.half_open_of_address;
  }

  std::optional<std::string> refusal(X509* shown, STACK_OF(X509) * others,
                                     const std::optional<MemberId>& wanted) {
    auto why = trust_->refusal(shown, others, std::chrono::system_clock::now());
    if (wanted && !why && id_of(shown) != *wanted) return "somebody else answers there";
    // A newcomer may ask to be let in, and nothing else: see Connection::answer_one.
    if (why && !wanted && is_newcomer(shown) && !trust_->is_revoked(id_of(shown)) &&
        X509_verify(shown, X509_get0_pubkey(shown)) == 1)
      return {};
    return why;
  }

  asio::awaitable<void> dial() {
    while (!stopping_) {
      const auto now = Clock::now();
      for (auto& [id, peer] : peers_)
        if (peer.wanted && !peer.link && !peer.dialling && now >= peer.next_dial) dial(id, peer);
      std::error_code woken;
      look_around_.expires_after(kLookAround);
      co_await look_around_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }

  void dial(const MemberId& id, Peer& peer) {
    std::vector<std::string> known = peer.addresses;
    for (const std::string& address : peer.hello.addresses)
      if (std::ranges::find(known, address) == known.end()) known.push_back(address);
    if (known.empty() || trust_->is_revoked(id)) return;
    const std::string address = known[peer.next_address++ % known.size()];
    const auto verify = [this, id](X509* shown, STACK_OF(X509) * others) {
      return refusal(shown, others, id);
    };
    peer.dialling = std::make_shared<Connection>(*this, tcp::socket(context_), tls(), verify, id);
    connections_.insert(peer.dialling);
    peer.dialling->start(address);
  }

  void wake(const MemberId& id) {
    const auto found = peers_.find(id);
    if (found != peers_.end() && found->second.link) found->second.link->wake();
  }

  // Of a connection's owner.
  LinkEvents& events() override { return events_; }
  const MemberId& me() const override { return me_; }
  std::string hello() override {
    Hello mine{trust_->run(),
               options_.incarnation,
               options_.nodes,
               options_.name,
               options_.addresses,
               trust_->warrants(),
               {}};
    for (const Revocation& each : trust_->revocations()) mine.revocations.push_back(each.coded());
    return coded(mine);
  }
  std::string heartbeat() override {
    const std::lock_guard lock(mutex_);
    return heartbeat_;
  }

  bool greeted(Connection& connection, const Hello& hello) override {
    half_open_.erase(&connection);
    if (hello.run != trust_->run()) throw Damaged("it belongs to another run");
    for (const std::string& warrant : hello.warrants) trust_->learn(warrant);
    for (const std::string& text : hello.revocations) trust_->learn(Revocation::parse(text));
    const MemberId id = connection.peer();
    if (trust_->is_revoked(id)) throw Damaged("its member was revoked");
    if (me_ > id) return true;  // the other decides
    Peer& peer = peers_[id];
    if (peer.chosen != nullptr) return false;
    if (peer.link && peer.incarnation == hello.incarnation &&
        Clock::now() - peer.link->stream().last_read() < kFresh)
      return false;
    peer.chosen = &connection;
    return true;
  }

  std::uint64_t expected(const MemberId& id, std::uint64_t incarnation) override {
    const auto found = peers_.find(id);
    if (found == peers_.end() || (incarnation != 0 && found->second.incarnation != incarnation)) return 0;
    return found->second.expected;
  }

  std::shared_ptr<Outbox> adopt(const std::shared_ptr<Connection>& connection, const Hello& hello,
                                std::uint64_t peer_expects) override {
    const MemberId id = connection->peer();
    if (stopping_ || trust_->is_revoked(id)) return nullptr;
    Peer& peer = peers_[id];
    if (hello.incarnation < peer.incarnation) return nullptr;  // of a process that is gone
    const auto box = outbox(id);
    bool was_up = peer.link != nullptr;
    if (was_up) {
      const auto old = std::exchange(peer.link, nullptr);
      fail_questions(peer);
      box->disconnect();
      old->close("another connection takes its place");
      if (peer.incarnation != hello.incarnation) {
        was_up = false;
        events_.down(id, "it was started anew");
      }
    }
    if (peer.incarnation != 0 && peer.incarnation != hello.incarnation) {
      box->forget(true);
      peer.expected = 0;
    }
    peer.incarnation = hello.incarnation;
    peer.hello = hello;
    peer.link = connection;
    peer.chosen = nullptr;
    if (peer.dialling == connection) peer.dialling.reset();
    peer.retry = kFirstRetry;
    box->rewind(peer_expects);
    publish(*connection, Time(0), Time(0));
    if (!was_up) events_.up(id, hello);
    return box;
  }

  bool arrived(const MemberId& id, std::uint64_t number) override {
    Peer& peer = peers_[id];
    if (number < peer.expected) return false;
    peer.expected = number + 1;  // one that the sender has forgotten does not come
    return true;
  }

  void answered(const MemberId& id, std::uint64_t number, std::optional<Message> answer) override {
    auto& asked = peers_[id].asked;
    const auto found = asked.find(number);
    if (found == asked.end()) return;
    const Answer told = std::move(found->second);
    asked.erase(found);
    told(std::move(answer));
  }

  static void fail_questions(Peer& peer) {
    for (auto& [number, told] : std::exchange(peer.asked, {})) told({});
  }

  void measured(Connection& connection, Time round_trip, Time silent) override {
    publish(connection, round_trip, silent);
  }

  void publish(Connection& connection, Time round_trip, Time silent) {
    const std::lock_guard lock(mutex_);
    published_[connection.peer()] = {connection.peer(),
                                     peers_[connection.peer()].hello,
                                     connection.address(),
                                     true,
                                     silent,
                                     round_trip,
                                     connection.stream().bytes_written(),
                                     connection.stream().bytes_read()};
  }

  void closed(const std::shared_ptr<Connection>& connection, const std::string& why) override {
    connections_.erase(connection);
    half_open_.erase(connection.get());
    for (auto& [id, peer] : peers_) {
      if (peer.chosen == connection.get()) peer.chosen = nullptr;
      if (peer.dialling == connection) {
        peer.dialling.reset();
        retry_later(peer);
        if (!stopping_ && !peer.link && connection->was_refused()) events_.refused(id);
      }
      if (peer.link != connection) continue;
      peer.link.reset();
      {
        const std::lock_guard lock(mutex_);
        published_[id].up = false;
      }
      outbox(id)->disconnect();
      fail_questions(peer);
      peer.next_dial = Clock::now();
      if (!stopping_) events_.down(id, why);
      break;
    }
  }

  void retry_later(Peer& peer) {
    std::uniform_real_distribution<double> spread(0.5, 1.0);
    peer.next_dial = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(peer.retry) * spread(random_));
    peer.retry = std::min<Clock::duration>(2 * peer.retry, kLastRetry);
  }

  asio::io_context context_{1};  // first: what uses it goes before
  const KeyPair key_;
  const MemberId me_;
  const std::shared_ptr<Trust> trust_;
  LinkOptions options_;
  std::string local_address_;
  LinkEvents& events_;
  MessagePool pool_;

  mutable std::mutex mutex_;
  std::shared_ptr<SSL_CTX> tls_;                          // guarded by mutex_
  std::map<MemberId, std::shared_ptr<Outbox>> outboxes_;  // guarded by mutex_; each then guards itself
  std::map<MemberId, LinkState> published_;               // guarded by mutex_
  std::string heartbeat_;                                 // guarded by mutex_

  // The links' thread's.
  tcp::acceptor acceptor_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer look_around_{context_};
  bool stopping_ = false;
  std::map<MemberId, Peer> peers_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::map<const Connection*, asio::ip::address> half_open_;
  std::uint64_t questions_ = 0;
  std::minstd_rand random_{std::random_device{}()};

  std::jthread thread_;  // last
};

Links::Links(const KeyPair& key, std::shared_ptr<Trust> trust, const std::string& certificate,
             const LinkOptions& options, LinkEvents& events)
    : state_(std::make_shared<State>(key, std::move(trust), options, events)) {
  state_->set_certificate(certificate);
}
Links::~Links() { stop(); }
void Links::start() { state_->start(); }
void Links::stop() { state_->stop(); }
const std::vector<std::string>& Links::addresses() const { return state_->options().addresses; }
std::string Links::local_address() const { return state_->local_address(); }
void Links::set_incarnation(std::uint64_t incarnation) { state_->set_incarnation(incarnation); }
void Links::set_certificate(const std::string& certificate) { state_->set_certificate(certificate); }

void Links::want(const MemberId& peer, const std::vector<std::string>& addresses) {
  post([state = state_.get(), peer, addresses] { state->want(peer, addresses); });
}
void Links::forget(const MemberId& peer, const std::string& why) {
  post([state = state_.get(), peer, why] { state->forget(peer, why); });
}
void Links::forget_views_before(std::uint64_t view) {
  for (const auto& [peer, box] : state_->outboxes()) box->forget_views_before(view);
}
void Links::close(const MemberId& peer, const std::string& why) {
  post([state = state_.get(), peer, why] { state->close(peer, why); });
}

void Links::send(const MemberId& to, const DataHead& head, Message message,
                 const std::function<bool()>& go_on) {
  state_->outbox(to)->put({0, 0, head, std::move(message)}, state_->options().backlog, go_on);
}
void Links::send_ended(const MemberId& to, const DataHead& head) {
  state_->outbox(to)->put({0, kNodeEnded, head, {}}, state_->options().backlog, {});
}
void Links::tell(const MemberId& to, std::string word) {
  if (!is_up(to)) return;
  state_->outbox(to)->put(coded(Header{Kind::word, 0, static_cast<std::uint32_t>(word.size()), 0}) + word);
}

void Links::ask(const MemberId& to, Service service, std::string_view text, Answer told) {
  post([state = state_.get(), to, request = coded_request(service, text), told = std::move(told)] {
    state->ask(to, request, told);
  });
}
std::optional<Message> Links::ask(const MemberId& to, Service service, std::string_view text, Time limit) {
  const auto promise = std::make_shared<std::promise<std::optional<Message>>>();
  auto future = promise->get_future();
  ask(to, service, text, [promise](std::optional<Message> answer) { promise->set_value(std::move(answer)); });
  if (future.wait_for(limit) != std::future_status::ready) return {};
  return future.get();
}

bool Links::flush(Time limit) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  std::vector<std::pair<std::shared_ptr<Outbox>, std::uint64_t>> asked;
  for (const auto& [peer, box] : state_->outboxes())
    if (is_up(peer))
      asked.emplace_back(box, box->put({0, kAnswerAtOnce, {}, {}}, state_->options().backlog, {}));
  bool all = true;
  for (const auto& [box, number] : asked) all = box->wait_until_acknowledged(number, until) && all;
  return all;
}

void Links::set_heartbeat(std::string text) { state_->set_heartbeat(std::move(text)); }
bool Links::is_up(const MemberId& peer) const { return state_->is_up(peer); }
std::vector<LinkState> Links::states() const { return state_->states(); }
MessagePool& Links::pool() { return state_->pool(); }
void Links::post(std::function<void()> what) { asio::post(state_->context(), std::move(what)); }
void Links::after(Time delay, std::function<void()> what) {
  post([state = state_.get(), delay, what = std::move(what)] { state->after(delay, what); });
}

}  // namespace veche::grid
