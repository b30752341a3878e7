#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "veche/comm/grid/links/link_table.h"

namespace veche::grid {
namespace {

constexpr std::chrono::milliseconds kLookAround{20};
constexpr std::chrono::milliseconds kLastRetry{2000};
// Who has the higher id lets the other dial first: else they would meet half-way every time.
constexpr std::chrono::milliseconds kAfterYou{300};

}  // namespace

void LinkTable::want(const MemberId& peer, const std::vector<std::string>& addresses) {
  if (peer == me_ || stopping_) return;
  Peer& it = peers_[peer];
  if (!it.wanted) it.next_dial = Clock::now() + (me_ < peer ? Clock::duration::zero() : kAfterYou);
  it.wanted = true;
  for (const std::string& address : addresses)
    if (std::ranges::find(it.addresses, address) == it.addresses.end()) it.addresses.push_back(address);
  look_around_.cancel();
}
asio::awaitable<void> LinkTable::dial() {
  while (!stopping_) {
    const auto now = Clock::now();
    for (auto& [id, peer] : peers_)
      if (peer.wanted && !peer.link && !peer.dialling && now >= peer.next_dial) dial(id, peer);
    std::error_code woken;
    look_around_.expires_after(kLookAround);
    co_await look_around_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

void LinkTable::dial(const MemberId& id, Peer& peer) {
  std::vector<std::string> known = peer.addresses;
  for (const std::string& address : peer.hello.addresses)
    if (std::ranges::find(known, address) == known.end()) known.push_back(address);
  if (known.empty() || trust_->is_revoked(id)) return;
  const std::string address = known[peer.next_address++ % known.size()];
  const auto verify = [this, id](X509* shown, STACK_OF(X509) * others) { return refusal(shown, others, id); };
  peer.dialling = std::make_shared<Connection>(*this, asio::ip::tcp::socket(context_), tls(), verify, id);
  connections_.insert(peer.dialling);
  peer.dialling->start(address);
}

void LinkTable::retry_later(Peer& peer) {
  std::uniform_real_distribution<double> spread(0.5, 1.0);
  peer.next_dial = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(peer.retry) * spread(random_));
  peer.retry = std::min<Clock::duration>(2 * peer.retry, kLastRetry);
}

}  // namespace veche::grid
