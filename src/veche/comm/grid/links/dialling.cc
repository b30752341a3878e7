#include <array>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "veche/comm/grid/links/link_table.h"

namespace veche::grid {
namespace {

constexpr std::chrono::milliseconds kLookAround{20};
constexpr std::chrono::milliseconds kLastRetry{2000};
// The member with the higher id lets the other dial first: otherwise both dials would collide every
// time.
constexpr std::chrono::milliseconds kAfterYou{300};
constexpr std::size_t kMostRemembered = 16;  // addresses per peer
// Hints: the pause before an address is tried again, and the number tried at a time.
constexpr std::chrono::milliseconds kMeetAgain{1500};
constexpr std::size_t kMostMet = 32;

void put_first(std::vector<std::string>& addresses, const std::vector<std::string>& newer) {
  std::vector<std::string> all;
  for (const auto* list : std::array<const std::vector<std::string>*, 2>{&newer, &addresses})
    for (const std::string& address : *list)
      if (all.size() < kMostRemembered && std::ranges::find(all, address) == all.end())
        all.push_back(address);
  addresses = std::move(all);
}

}  // namespace

void LinkTable::want(const MemberId& peer, const std::vector<std::string>& addresses) {
  if (peer == me_ || stopping_) return;
  Peer& it = peers_[peer];
  if (!it.wanted) it.next_dial = Clock::now() + (me_ < peer ? Clock::duration::zero() : kAfterYou);
  it.wanted = true;
  put_first(it.addresses, addresses);
  search_timer_.cancel();
}

bool LinkTable::lacks() const {
  return std::ranges::any_of(peers_,
                             [](const auto& each) { return each.second.wanted && !each.second.link; });
}

void LinkTable::meet(const std::vector<std::string>& addresses) {
  const auto now = Clock::now();
  const auto own = this->addresses();
  std::erase_if(met_, [&](const auto& each) { return now - each.second > kMeetAgain; });
  const bool alone =
      std::ranges::none_of(peers_, [](const auto& each) { return each.second.link != nullptr; });
  for (const std::string& address : addresses) {
    const bool known = std::ranges::any_of(peers_, [&](const auto& each) {
      return each.second.link && std::ranges::count(each.second.hello.addresses, address) > 0;
    });
    if (stopping_ || known || (!alone && !lacks()) || met_.size() >= kMostMet) continue;
    if (std::ranges::count(own, address) > 0 || !met_.emplace(address, now).second) continue;
    const auto verify = [this](X509* shown, STACK_OF(X509) * others) -> std::optional<std::string> {
      if (id_of(shown) == me_) return "it is this member itself";
      return trust_->refusal(shown, others, std::chrono::system_clock::now());
    };
    const auto connection = std::make_shared<Connection>(*this, asio::ip::tcp::socket(context_), tls(),
                                                         verify, Route{{address}, {}, {}, false});
    connections_.insert(connection);
    connection->start();
  }
}

asio::awaitable<void> LinkTable::dial() {
  while (!stopping_) {
    const auto now = Clock::now();
    for (auto& [id, peer] : peers_)
      if (peer.wanted && !peer.link && !peer.dialling && now >= peer.next_dial) dial(id, peer);
    std::error_code woken;
    search_timer_.expires_after(kLookAround);
    co_await search_timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

// Tries the next route to the peer: its addresses, then asking it to dial, then relays. The last
// successful route comes first.
void LinkTable::dial(const MemberId& id, Peer& peer) {
  if (trust_->is_revoked(id)) return;
  const auto known = addresses_of(peer);
  const auto helpers = linked_besides(id, false), relays = linked_besides(id, true);
  const std::size_t first_relay = known.size() + (helpers.empty() ? 0 : 1);
  const std::size_t ways = first_relay + relays.size();
  if (ways == 0) return;
  if (std::exchange(peer.was_relayed, false)) peer.next_way = first_relay;
  const std::size_t way = peer.next_way++ % ways;
  peer.all_tried = way + 1 == ways;
  if (way < known.size())
    connect(id, peer, {{known[way]}, {}, {}, false});
  else if (way < first_relay)
    ask_to_be_dialled(id, peer, helpers);
  else
    ask_to_be_relayed(id, peer, relays[way - first_relay]);
}

void LinkTable::connect(const MemberId& id, Peer& peer, Route route) {
  const auto verify = [this, id](X509* shown, STACK_OF(X509) * others) { return refusal(shown, others, id); };
  const bool asked_to = route.as_server;
  const auto connection =
      std::make_shared<Connection>(*this, asio::ip::tcp::socket(context_), tls(), verify, std::move(route));
  if (!asked_to) peer.dialling = connection;
  connections_.insert(connection);
  connection->start();
}

std::vector<std::string> LinkTable::addresses_of(const Peer& peer) const {
  std::vector<std::string> known = peer.hello.addresses;
  put_first(known, peer.addresses);
  if (!peer.reached.empty()) put_first(known, {peer.reached});
  return known;
}

std::vector<MemberId> LinkTable::linked_besides(const MemberId& id, bool relays) const {
  std::vector<MemberId> linked;
  for (const auto& [other, peer] : peers_)
    if (other != id && peer.link && (!relays || peer.hello.relays)) linked.push_back(other);
  // Members start with different relays.
  if (!linked.empty())
    std::ranges::rotate(linked, linked.begin() + (me_.bytes[0] ^ id.bytes[0]) % std::ssize(linked));
  return linked;
}

void LinkTable::retry_later(Peer& peer) {
  std::uniform_real_distribution<double> spread(0.5, 1.0);
  const Clock::duration pause = peer.all_tried ? peer.retry : kFirstRetry;
  peer.next_dial = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(pause) * spread(random_));
  if (peer.all_tried) peer.retry = std::min<Clock::duration>(2 * peer.retry, kLastRetry);
}

}  // namespace veche::grid
