#include "veche/comm/grid/links/link_table.h"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>

#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

using asio::ip::tcp;

tcp::acceptor listen_at(asio::io_context& context, const LinkOptions& options) {
  tcp::acceptor acceptor(context);
  if (options.listening >= 0) {
    acceptor.assign(tcp::v4(), options.listening);
    return acceptor;
  }
  try {
    const Address address = parse_address(options.listen);
    if (!address.number) throw MalformedMessage("'" + options.listen + "' must name this host by its number");
    const tcp::endpoint endpoint(*address.number, address.port);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen();
  } catch (const std::exception& error) {
    throw RequestError("cannot listen at " + options.listen + ": " + error.what());
  }
  return acceptor;
}

}  // namespace

LinkTable::LinkTable(const KeyPair& key, std::shared_ptr<Trust> trust, const LinkOptions& options,
                     LinkEvents& events)
    : key_(key),
      me_(key.id()),
      trust_(std::move(trust)),
      options_(options),
      events_(events),
      acceptor_(listen_at(context_, options)),
      work_(context_.get_executor()),
      relay_(context_, options.relay_limits) {
  const auto own = own_addresses(acceptor_.local_endpoint().address(), acceptor_.local_endpoint().port());
  if (!own.empty()) local_address_ = own.back();
  addresses_ = options_.addresses.empty() ? own : options_.addresses;
}

void LinkTable::set_certificate(const std::string& certificate) {
  std::vector<std::string> proofs = trust_->proofs_of(certificate);
  proofs.push_back(trust_->root());
  auto made = make_context(key_, certificate, proofs);
  const MutexLock lock(mutex_);
  tls_ = std::move(made);
}

void LinkTable::start() {
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

void LinkTable::stop() {
  if (!thread_.joinable()) return;
  asio::post(context_, [this] {
    stopping_ = true;
    std::error_code ignored;
    acceptor_.close(ignored);
    search_timer_.cancel();
    const auto all = connections_;
    for (const auto& connection : all) connection->close("this member closes its links");
    relay_.close();
    peers_.clear();
    work_.reset();
  });
  // Only the ends of coroutines remain; a pending name lookup is not waited for.
  asio::post(context_, [this] { after(Time(0.2), [this] { context_.stop(); }); });
  thread_.join();
}

std::vector<std::string> LinkTable::addresses() const {
  const MutexLock lock(mutex_);
  return addresses_;
}
void LinkTable::add_address(const std::string& address) {
  {
    const MutexLock lock(mutex_);
    std::erase(addresses_, address);
    addresses_.insert(addresses_.begin(), address);
  }
  asio::post(context_, [this] {
    const std::string told = coded_request(Service::introduced, coded(Introduction{me_, addresses()}));
    for (const MemberId& peer : linked_besides(me_, false)) ask(peer, told, [](const auto&) {});
  });
}
void LinkTable::after(Time delay, std::function<void()> what) {
  auto timer = std::make_shared<asio::steady_timer>(context_);
  timer->expires_after(std::chrono::duration_cast<Clock::duration>(delay));
  timer->async_wait([timer, what = std::move(what)](std::error_code error) {
    if (!error) what();
  });
}
std::shared_ptr<Outbox> LinkTable::outbox(const MemberId& peer) {
  const MutexLock lock(mutex_);
  auto& box = outboxes_[peer];
  if (!box)
    box = std::make_shared<Outbox>([this, peer] { asio::post(context_, [this, peer] { wake(peer); }); });
  return box;
}
std::map<MemberId, std::shared_ptr<Outbox>> LinkTable::outboxes() {
  const MutexLock lock(mutex_);
  return outboxes_;
}
bool LinkTable::is_up(const MemberId& peer) const {
  const MutexLock lock(mutex_);
  const auto found = published_.find(peer);
  return found != published_.end() && found->second.up;
}
std::vector<LinkState> LinkTable::states() const {
  const MutexLock lock(mutex_);
  std::vector<LinkState> all;
  for (const auto& [peer, state] : published_) all.push_back(state);
  return all;
}
Time LinkTable::longest_round_trip() const {
  const MutexLock lock(mutex_);
  Time longest{0};
  for (const auto& [peer, state] : published_)
    if (state.up) longest = std::max(longest, state.round_trip);
  return longest;
}
void LinkTable::set_heartbeat(std::string text) {
  const MutexLock lock(mutex_);
  heartbeat_ = std::move(text);
}

void LinkTable::forget(const MemberId& peer, const std::string& why) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  found->second.wanted = false;
  if (found->second.link) found->second.link->say_bye(why);
}
void LinkTable::close(const MemberId& peer, const std::string& why) {
  const auto all = connections_;
  for (const auto& connection : all)
    if (connection->peer() == peer) connection->close(why);
  if (trust_->is_revoked(peer)) relay_.forget(peer);
}
void LinkTable::ask(const MemberId& to, std::string request, Answer on_answer) {
  const auto found = peers_.find(to);
  if (found == peers_.end() || !found->second.link) return on_answer({});
  const std::uint64_t number = ++questions_;
  found->second.asked.emplace(number, std::move(on_answer));
  outbox(to)->put(coded(Header{Kind::request, 0, static_cast<std::uint32_t>(request.size()), number}) +
                  request);
}

std::shared_ptr<SSL_CTX> LinkTable::tls() const {
  const MutexLock lock(mutex_);
  return tls_;
}

void LinkTable::wake(const MemberId& id) {
  const auto found = peers_.find(id);
  if (found != peers_.end() && found->second.link) found->second.link->wake();
}

bool LinkTable::arrived(const MemberId& id, std::uint64_t number) {
  Peer& peer = peers_[id];
  if (number < peer.expected) return false;
  peer.expected = number + 1;  // skips messages that the sender has forgotten
  return true;
}

void LinkTable::answered(const MemberId& id, std::uint64_t number, std::optional<Message> answer) {
  auto& asked = peers_[id].asked;
  const auto found = asked.find(number);
  if (found == asked.end()) return;
  const Answer on_answer = std::move(found->second);
  asked.erase(found);
  on_answer(std::move(answer));
}

void LinkTable::fail_questions(Peer& peer) {
  for (auto& [number, on_answer] : std::exchange(peer.asked, {})) on_answer({});
}

void LinkTable::publish(Connection& connection) {
  const MutexLock lock(mutex_);
  LinkState& state = published_[connection.peer()];
  state.peer = connection.peer();
  state.hello = peers_[connection.peer()].hello;
  state.address = connection.address();
  state.dialled = !connection.route().addresses.empty() && !connection.route().relay;
  state.up = true;
}

void LinkTable::measured(Connection& connection, Time round_trip, Time silent) {
  const MutexLock lock(mutex_);
  LinkState& state = published_[connection.peer()];
  state.silent = silent;
  state.round_trip = round_trip;
  state.sent = connection.stream().bytes_written();
  state.received = connection.stream().bytes_read();
}

Time LinkTable::heartbeat_every() const {
  constexpr Time kOfALink{0.01}, kLongest{1};  // longer with many links, to limit CPU use
  return std::max<Time>(options_.heartbeat,
                        std::min<Time>(kLongest, kOfALink * static_cast<double>(connections_.size())));
}

}  // namespace veche::grid
