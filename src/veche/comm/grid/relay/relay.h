#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "veche/comm/grid/relay/relay_limits.h"
#include "veche/comm/grid/relay/relay_messages.h"

namespace veche::grid {

// Joins connections of members that cannot reach each other. The forwarded data are encrypted end
// to end; the relay has no key. A side that does not read blocks the other by TCP flow control.
// Runs on the context's thread.
class Relay {
 public:
  Relay(asio::io_context& context, const RelayLimits& limits);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Returns the tokens of the two ends, in order; nullopt if the limit is reached.
  std::optional<std::pair<Token, Token>> expect(const MemberId& first, const MemberId& second);
  // A connection has shown this token. Closes it if the token is not expected.
  void arrived(const Token& token, asio::ip::tcp::socket socket);
  // Closes all pairs with this member.
  void forget(const MemberId& member);
  void close();

  std::size_t pairs() const { return pairs_.size(); }

 private:
  struct Pair;
  void end(const std::shared_ptr<Pair>& pair);
  asio::awaitable<void> join(std::shared_ptr<Pair> pair);
  asio::awaitable<void> forward(std::shared_ptr<Pair> pair, std::size_t from);
  asio::awaitable<void> watch(std::shared_ptr<Pair> pair);

  asio::io_context& context_;
  const RelayLimits limits_;
  std::set<std::shared_ptr<Pair>> pairs_;
  std::map<Token, std::pair<std::shared_ptr<Pair>, std::size_t>> expected_;  // and the index of the end
};

}  // namespace veche::grid
