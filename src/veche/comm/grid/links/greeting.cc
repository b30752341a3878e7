// Selects which connection becomes the link of two members, and handles its end.
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/link_table.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

// A link that was active this recently is not replaced by another one to the same peer.
constexpr std::chrono::milliseconds kFresh{1500};

}  // namespace

std::string LinkTable::hello() {
  Hello mine{
      trust_->run(), options_.incarnation, options_.nodes, options_.name, addresses(), trust_->warrants(), {},
      options_.relay};
  for (const Revocation& each : trust_->revocations()) mine.revocations.push_back(each.coded());
  return coded(mine);
}
std::string LinkTable::heartbeat() {
  const MutexLock lock(mutex_);
  return heartbeat_;
}

bool LinkTable::greeted(Connection& connection, const Hello& hello) {
  half_open_.erase(&connection);
  if (hello.run != trust_->run()) throw MalformedMessage("it belongs to another run");
  for (const std::string& warrant : hello.warrants) trust_->learn(warrant);
  for (const std::string& text : hello.revocations) trust_->learn(Revocation::parse(text));
  const MemberId id = connection.peer();
  if (trust_->is_revoked(id)) throw MalformedMessage("its member was revoked");
  if (me_ > id) return true;  // the peer decides
  Peer& peer = peers_[id];
  if (peer.chosen != nullptr) return false;
  if (peer.link && peer.incarnation == hello.incarnation &&
      Clock::now() - peer.link->stream().last_read() < kFresh)
    return false;
  peer.chosen = &connection;
  return true;
}

std::uint64_t LinkTable::expected(const MemberId& id, std::uint64_t incarnation) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || (incarnation != 0 && found->second.incarnation != incarnation)) return 0;
  return found->second.expected;
}

std::shared_ptr<Outbox> LinkTable::adopt(const std::shared_ptr<Connection>& connection, const Hello& hello,
                                         std::uint64_t peer_expects) {
  const MemberId id = connection->peer();
  if (stopping_ || trust_->is_revoked(id)) return nullptr;
  Peer& peer = peers_[id];
  if (hello.incarnation < peer.incarnation) return nullptr;  // from an earlier process
  const auto box = outbox(id);
  bool was_up = peer.link != nullptr;
  if (was_up) {
    const auto old = std::exchange(peer.link, nullptr);
    fail_questions(peer);
    box->disconnect();
    old->close("another connection takes its place");
    if (peer.incarnation != hello.incarnation) {
      was_up = false;
      events_.down(id, "it was restarted");
    }
  }
  if (peer.incarnation != 0 && peer.incarnation != hello.incarnation) {
    box->start_anew(hello.incarnation);
    peer.expected = 0;
  }
  peer.incarnation = hello.incarnation;
  peer.hello = hello;
  peer.hello.warrants.clear();  // already stored; every member has one, and this struct is copied often
  peer.hello.revocations.clear();
  peer.link = connection;
  peer.chosen = nullptr;
  const Route& route = connection->route();
  peer.was_relayed = route.relay.has_value();
  peer.next_way = 0;
  if (!route.relay) peer.host = connection->host();
  if (!route.relay && route.addresses.size() == 1) peer.reached = route.addresses.front();
  if (peer.dialling == connection) peer.dialling.reset();
  peer.retry = kFirstRetry;
  box->rewind(peer_expects);
  publish(*connection);
  measured(*connection, Time(0), Time(0));
  if (!was_up) events_.up(id, hello);
  return box;
}

// A refusal by another machine behind the same NAT, or with the same address in another network,
// proves nothing about the peer.
bool LinkTable::was_refused_by_its_host(const Connection& connection, const Peer& peer) {
  const Route& route = connection.route();
  if (!connection.was_refused() || route.relay || route.addresses.size() != 1) return false;
  const auto dialled = parse_address(route.addresses.front()).number;
  return dialled && *dialled == peer.host;
}

void LinkTable::closed(const std::shared_ptr<Connection>& connection, const std::string& why) {
  connections_.erase(connection);
  half_open_.erase(connection.get());
  for (auto& [id, peer] : peers_) {
    if (peer.chosen == connection.get()) peer.chosen = nullptr;
    if (peer.dialling == connection) {
      peer.dialling.reset();
      retry_later(peer);
      if (!stopping_ && !peer.link && was_refused_by_its_host(*connection, peer)) events_.refused(id);
    }
    if (peer.link != connection) continue;
    peer.link.reset();
    {
      const MutexLock lock(mutex_);
      published_[id].up = false;
    }
    outbox(id)->disconnect();
    fail_questions(peer);
    peer.next_dial = Clock::now();
    if (!stopping_) events_.down(id, why);
    break;
  }
}

}  // namespace veche::grid
