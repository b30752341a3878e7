#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cstring>

#include "web/http/connection.h"
#include "web/http/parts.h"

namespace veche::web {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kMostTarget = 4096, kMostHeaders = 100;
constexpr std::size_t kHeadPiece = 8U << 10U;  // bytes received at a time; bodies use larger chunks
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string small_letters(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

// Fills the request except its body. Returns 0, or the status of a refusal.
int Connection::take_head(const http::request<http::string_body>& from, HttpRequest& request) {
  if (from.target().size() > kMostTarget) return 414;
  if (static_cast<std::size_t>(std::distance(from.begin(), from.end())) > kMostHeaders) return 431;
  request.method = view(from.method_string());
  if (!take_target(view(from.target()), request)) return 400;
  for (const auto& field : from) {
    const std::string name = small_letters(view(field.name_string()));
    const bool first = request.headers.emplace(name, view(field.value())).second;
    if (!first && (name == "host" || name == "origin" || name == "authorization")) return 400;
  }
  const auto encoding = request.headers.find("content-encoding");
  if (encoding != request.headers.end() && small_letters(encoding->second) != "identity") return 415;
  const auto transfer = request.headers.find("transfer-encoding");
  if (transfer != request.headers.end() && small_letters(transfer->second) != "chunked") return 501;
  return 0;
}

asio::awaitable<bool> Connection::receive(std::size_t most) {
  const auto room = buffer_.prepare(std::min(most, buffer_.max_size() - buffer_.size()));
  if (room.size() == 0) co_return false;
  asio::error_code error;
  const std::size_t count = co_await socket_.async_read_some(
      asio::buffer(room.data(), room.size()), asio::redirect_error(asio::use_awaitable, error));
  buffer_.commit(count);
  co_return !error && count > 0;
}

// Returns 0 on success, kGone, or the status of a refusal.
asio::awaitable<int> Connection::receive_head(Parser& parser) {
  now_doing(Doing::waiting, shared_.options.to_idle);
  if (buffer_.size() == 0) {
    buffer_.shrink_to_fit();
    const bool there = co_await receive(kHeadPiece);
    if (!there) co_return kGone;
  }
  begun_ = HttpClock::now();
  deadline_ = begun_ + shared_.options.to_send_head;
  for (;;) {
    boost::beast::error_code error;
    const std::size_t used = parser.put(buffer_.data(), error);
    const auto* text = static_cast<const char*>(buffer_.data().data());
    const bool has_line = std::memchr(text, '\n', buffer_.size()) != nullptr;
    buffer_.consume(used);
    if (error == http::error::header_limit) co_return used == 0 && !has_line ? 414 : 431;
    if (error && error != http::error::need_more) co_return 400;
    if (parser.is_header_done()) co_return 0;
    const bool there = co_await receive(kHeadPiece);
    if (!there) co_return kGone;
  }
}

asio::awaitable<int> Connection::receive_body(Parser& parser, std::size_t& counted) {
  now_doing(Doing::receiving, HttpClock::duration::max());
  deadline_ = begun_ + shared_.options.to_send_request;
  if (small_letters(view(parser.get()[http::field::expect])) == "100-continue") {
    const bool there = co_await write(kContinue);
    if (!there) co_return kGone;
  }
  parser.body_limit(shared_.options.most_body);
  parser.eager(true);
  bool more = buffer_.size() == 0;
  while (!parser.is_done()) {
    const bool there = !more || co_await receive(kPiece);
    if (!there) co_return kGone;
    boost::beast::error_code error;
    buffer_.consume(parser.put(buffer_.data(), error));
    if (error == http::error::body_limit) co_return 413;
    if (error && error != http::error::need_more) co_return 400;
    const std::size_t new_bytes = parser.get().body().size() - counted;
    counted += new_bytes;
    shared_.body_bytes += new_bytes;
    if (shared_.body_bytes > shared_.options.bodies_in_all) co_return 503;
    more = buffer_.size() == 0 || error == http::error::need_more;
    if (more && buffer_.size() == buffer_.max_size()) co_return 400;  // an endless line
  }
  co_return 0;
}

}  // namespace veche::web
