#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "veche/comm/grid/links/link_table.h"

namespace veche::grid {

asio::awaitable<void> LinkTable::accept() {
  while (!stopping_) {
    std::error_code error;
    asio::ip::tcp::socket socket(context_);
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (stopping_) co_return;
    if (error) {  // out of descriptors for a while
      asio::steady_timer timer(context_, std::chrono::milliseconds(100));
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    const auto remote = socket.remote_endpoint(error);
    if (error || is_flooded(remote.address())) continue;  // closes the socket
    const auto connection = std::make_shared<Connection>(
        *this, std::move(socket), tls(),
        [this](X509* shown, STACK_OF(X509) * others) { return refusal(shown, others, {}); }, Route{});
    connections_.insert(connection);
    half_open_.emplace(connection.get(), remote.address());
    connection->start();
  }
}

bool LinkTable::is_flooded(const asio::ip::address& from) const {
  const auto same = std::ranges::count_if(half_open_, [&](const auto& each) { return each.second == from; });
  return half_open_.size() >= options_.half_open ||
         static_cast<std::size_t>(same) >= options_.half_open_of_address;
}

std::optional<std::string> LinkTable::refusal(X509* shown, STACK_OF(X509) * others,
                                              const std::optional<MemberId>& wanted) {
  auto why = trust_->refusal(shown, others, std::chrono::system_clock::now());
  if (wanted && !why && id_of(shown) != *wanted) return "somebody else answers there";
  // A newcomer may ask to join, and nothing else: see Connection::answer_one.
  if (why && !wanted && is_newcomer(shown) && !trust_->is_revoked(id_of(shown)) &&
      X509_verify(shown, X509_get0_pubkey(shown)) == 1)
    return {};
  return why;
}

}  // namespace veche::grid
