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
#include "veche/comm/grid/relay/words.h"

namespace veche::grid {

// Joins connections of members that cannot reach each other. What it forwards is theirs, encrypted from end
// to end: it has no key. Who does not read stops the other from writing, by TCP. One thread, that of the
// context.
class Relay {
 public:
  Relay(asio::io_context& context, const RelayLimits& limits);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The tokens of the two ends, in that order; nothing: it has enough.
  std::optional<std::pair<Token, Token>> expect(const MemberId& first, const MemberId& second);
  // Somebody has dialled and shown it. One that is not expected is closed.
  void arrived(const Token& token, asio::ip::tcp::socket socket);
  // Closes what it has at one end.
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
  std::map<Token, std::pair<std::shared_ptr<Pair>, std::size_t>> expected_;  // and which end it is
};

}  // namespace veche::grid
