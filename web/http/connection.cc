#include "web/http/connection.h"

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <limits>

#include "web/http/parts.h"

namespace veche::web {
namespace {

constexpr std::uint32_t kMostHead = 16U << 10U;

std::optional<HttpReply> admitted(HttpHandler& handler, const HttpRequest& head) {
  try {
    return handler.admit(head);
  } catch (const std::exception&) {
    return handler.refused(500);
  }
}

// The bytes of a body, counted while they are kept.
struct Counted {
  std::size_t& in_all;
  std::size_t bytes = 0;
  ~Counted() { in_all -= bytes; }
};

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, std::string client, HttpShared& shared,
                       asio::thread_pool& pool)
    : socket_(std::move(socket)),
      client_(std::move(client)),
      shared_(shared),
      pool_(pool),
      pause_(socket_.get_executor()),
      buffer_(2 * kPiece) {
  now_doing(Doing::waiting, shared.options.to_idle);
}

void Connection::now_doing(Doing doing, HttpClock::duration limit) {
  doing_ = doing;
  since_ = HttpClock::now();
  deadline_ = limit == HttpClock::duration::max() ? kNever : since_ + limit;
}

bool Connection::dispensable(HttpClock::time_point now) const {
  return doing_ == Doing::waiting || doing_ == Doing::leaving || (doing_ == Doing::writing && slow(now));
}

void Connection::close() {
  if (closed()) return;
  asio::error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
}

// The handler's answer to a request with its body, computed on the pool; or status kGone.
asio::awaitable<HttpReply> Connection::answer(HttpRequest request, Parser& parser) {
  HttpHandler& handler = shared_.handler;
  const std::uint64_t length = parser.content_length().value_or(0);
  if (length > shared_.options.most_body || (parser.chunked() && shared_.options.most_body == 0))
    co_return handler.refused(413);
  Taken place(shared_.answers, client_);
  if (!place && shared_.drop_slow_body(client_)) {
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);  // until its place has been returned
    place.retry();
  }
  if (!place) co_return handler.refused(503);
  Counted counted{shared_.body_bytes};
  const int status = co_await receive_body(parser, counted.bytes);
  if (status == kGone) co_return HttpReply{.status = kGone};
  if (status != 0) co_return handler.refused(status);
  request.body = std::move(parser.get().body());
  if (const auto type = request.headers.find("content-type"); type != request.headers.end())
    if (auto part = first_of_form(type->second, request.body)) request.body = std::move(*part);
  now_doing(Doing::answering, HttpClock::duration::max());
  auto work = [&handler, request = std::move(request)]() -> asio::awaitable<HttpReply> {
    try {
      co_return handler.answer(request);
    } catch (const std::exception&) {
      co_return handler.refused(500);
    }
  };
  HttpReply reply = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  co_return reply;
}

asio::awaitable<bool> Connection::serve_one() {
  Parser parser;
  parser.header_limit(kMostHead);
  // the limit is checked once the client is known
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  int status = co_await receive_head(parser);
  if (status == kGone) co_return false;
  HttpRequest request;
  if (status == 0) status = take_head(parser.get(), request);
  const bool head_only = request.method == "HEAD";
  std::optional<HttpReply> reply;
  if (status != 0) {
    reply = shared_.handler.refused(status);
  } else {
    reply = admitted(shared_.handler, request);
    if (!reply) reply = co_await answer(std::move(request), parser);
  }
  if (reply->status == kGone) co_return false;
  const bool whole =
      status == 0 && (parser.is_done() || (!parser.chunked() && parser.content_length().value_or(0) == 0));
  const bool keep = whole && parser.keep_alive() && parser.get().version() == 11 && !shared_.ending;
  if (reply->parts && !head_only) {
    const Taken place(shared_.streams, client_);
    if (place) {
      co_await stream(std::move(*reply), parser.get().version() == 11);
      co_return false;
    }
    reply = shared_.handler.refused(503);
  }
  const bool read = co_await reply_with(std::move(*reply), head_only, keep);
  if (read && !whole) co_await leave();
  co_return (read && keep);
}

asio::awaitable<void> Connection::serve() {
  try {
    while (co_await serve_one()) {
    }
  } catch (const std::exception&) {  // out of memory or descriptors: the client gets no answer
  }
  close();
}

}  // namespace veche::web
