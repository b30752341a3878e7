#include <array>
#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "web/http/connection.h"
#include "web/http/parts.h"

namespace veche::web {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostDiscarded = 64U << 20U;
constexpr auto kBetweenParts = 200ms;
constexpr auto kToLeave = 1s;
constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace

asio::awaitable<bool> Connection::write(std::string_view first, std::string_view second) {
  const std::array<asio::const_buffer, 2> parts{asio::buffer(first), asio::buffer(second)};
  asio::error_code error;
  co_await asio::async_write(socket_, parts, asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

asio::awaitable<bool> Connection::reply_with(HttpReply reply, bool head_only, bool keep) {
  now_doing(Doing::writing, shared_.options.to_read_answer);
  if (reply.status == 503) reply.headers.emplace_back("Retry-After", "1");
  const std::string head = head_of(reply, keep, false);
  co_return co_await write(head, head_only ? std::string_view() : std::string_view(reply.body));
}

asio::awaitable<void> Connection::stream(HttpReply reply, bool chunked) {
  now_doing(Doing::streaming, shared_.options.to_read_answer);
  const std::string head = head_of(reply, false, chunked);
  if (!co_await write(head)) co_return;
  while (!closed() && !shared_.ending) {
    deadline_ = kNever;
    std::string part = reply.parts();
    if (!part.empty()) {
      if (chunked) part = chunk_of(part);
      deadline_ = HttpClock::now() + shared_.options.to_read_answer;
      if (!co_await write(part)) co_return;
      deadline_ = kNever;
    }
    if (reply.ended && reply.ended()) {
      if (chunked) co_await write(kLastChunk);
      co_return co_await leave();
    }
    pause_.expires_after(kBetweenParts);
    asio::error_code cancelled;
    co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
}

// If the client still sends, closing at once would discard our answer: read and drop its data
// first.
asio::awaitable<void> Connection::leave() {
  now_doing(Doing::leaving, kToLeave);
  asio::error_code error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  for (std::size_t dropped = 0; !error && dropped < kMostDiscarded;) {
    buffer_.clear();
    if (!co_await receive(kPiece)) co_return;
    dropped += buffer_.size();
  }
}

}  // namespace veche::web
