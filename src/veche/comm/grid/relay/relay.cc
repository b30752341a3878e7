#include "veche/comm/grid/relay/relay.h"

#include <openssl/rand.h>

#include <array>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <vector>

#include "veche/comm/grid/identity/openssl.h"

namespace veche::grid {
namespace {

using RelayClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLookAtPair{500};

Token draw_token() {
  Token token{};
  if (RAND_bytes(token.data(), static_cast<int>(token.size())) != 1) openssl_failed("random bytes");
  return token;
}

}  // namespace

struct Relay::Pair {
  explicit Pair(asio::io_context& context) : ticks(context) {}

  std::array<MemberId, 2> members;
  std::array<Token, 2> tokens;
  std::array<std::optional<asio::ip::tcp::socket>, 2> sockets;
  RelayClock::time_point last = RelayClock::now();  // of the last received data
  bool joined = false, ended = false;
  asio::steady_timer ticks;
};

Relay::Relay(asio::io_context& context, const RelayLimits& limits) : context_(context), limits_(limits) {}
Relay::~Relay() { close(); }

std::optional<std::pair<Token, Token>> Relay::expect(const MemberId& first, const MemberId& second) {
  const auto of = [this](const MemberId& member) {
    return static_cast<std::size_t>(std::ranges::count_if(
        pairs_, [&](const auto& pair) { return pair->members[0] == member || pair->members[1] == member; }));
  };
  if (pairs_.size() >= limits_.pairs || of(first) >= limits_.pairs_of_member ||
      of(second) >= limits_.pairs_of_member)
    return {};
  const auto pair = std::make_shared<Pair>(context_);
  pair->members = {first, second};
  pair->tokens = {draw_token(), draw_token()};
  pairs_.insert(pair);
  for (std::size_t end = 0; end < 2; ++end) expected_.emplace(pair->tokens[end], std::pair(pair, end));
  asio::co_spawn(
      context_, [this, pair] { return watch(pair); }, asio::detached);
  return std::pair(pair->tokens[0], pair->tokens[1]);
}

void Relay::arrived(const Token& token, asio::ip::tcp::socket socket) {
  const auto found = expected_.find(token);
  if (found == expected_.end()) return;  // closes the socket
  const auto [pair, which] = found->second;
  expected_.erase(found);
  std::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  pair->sockets[which] = std::move(socket);
  if (!pair->sockets[1 - which]) return;
  pair->joined = true;
  pair->last = RelayClock::now();
  asio::co_spawn(
      context_, [this, pair = pair] { return join(pair); }, asio::detached);
}

asio::awaitable<void> Relay::join(std::shared_ptr<Pair> pair) {
  for (auto& socket : pair->sockets) {
    std::error_code error;
    co_await asio::async_write(*socket, asio::buffer(&kJoined, 1),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error || pair->ended) co_return end(pair);
  }
  for (std::size_t from = 0; from < 2; ++from)
    asio::co_spawn(
        context_, [this, pair, from] { return forward(pair, from); }, asio::detached);
}

// Reads only as much as it has written: backpressure reaches the sender.
asio::awaitable<void> Relay::forward(std::shared_ptr<Pair> pair, std::size_t from) {
  std::vector<char> bytes(limits_.buffer);
  std::error_code error;
  while (!error && !pair->ended) {
    const std::size_t count = co_await pair->sockets[from]->async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error || pair->ended) break;
    pair->last = RelayClock::now();
    co_await asio::async_write(*pair->sockets[1 - from], asio::buffer(bytes.data(), count),
                               asio::redirect_error(asio::use_awaitable, error));
  }
  end(pair);
}

asio::awaitable<void> Relay::watch(std::shared_ptr<Pair> pair) {
  while (!pair->ended) {
    std::error_code woken;
    pair->ticks.expires_after(kLookAtPair);
    co_await pair->ticks.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (pair->ended) co_return;
    const Time silent = RelayClock::now() - pair->last;
    if (silent > (pair->joined ? limits_.idle : limits_.wait)) end(pair);
  }
}

void Relay::end(const std::shared_ptr<Pair>& pair) {
  if (std::exchange(pair->ended, true)) return;
  std::error_code ignored;
  for (auto& socket : pair->sockets)
    if (socket) socket->close(ignored);
  for (const Token& token : pair->tokens) expected_.erase(token);
  pair->ticks.cancel();
  pairs_.erase(pair);
}

void Relay::forget(const MemberId& member) {
  const auto all = pairs_;
  for (const auto& pair : all)
    if (pair->members[0] == member || pair->members[1] == member) end(pair);
}

void Relay::close() {
  const auto all = pairs_;
  for (const auto& pair : all) end(pair);
}

}  // namespace veche::grid
