#pragma once

#include <algorithm>
#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "web/http/http.h"
#include "web/http/places.h"

namespace veche::web {

using HttpClock = std::chrono::steady_clock;

// State shared by the connections of a server. One thread, except for the handler's `answer`.
struct HttpShared {
  HttpShared(const HttpOptions& options, HttpHandler& handler)
      : options(options), handler(handler), answers(options.answers), streams(options.streams) {}

  const HttpOptions options;
  HttpHandler& handler;
  Places answers, streams;
  std::size_t body_bytes = 0;
  // Drops a client that sends its body slowly, preferably this one. Returns false if there is none.
  std::function<bool(const std::string& client)> drop_slow_body;
  bool ending = false;
  HttpClock::time_point end_by = HttpClock::time_point::max();
};

// One client's connection: reads requests and answers them in turn. Runs on the server's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Doing { waiting, receiving, answering, writing, streaming, leaving };

  Connection(asio::ip::tcp::socket socket, std::string client, HttpShared& shared, asio::thread_pool& pool);

  asio::awaitable<void> serve();  // until either side closes it
  void close();

  const std::string& client() const { return client_; }
  Doing doing() const { return doing_; }
  bool closed() const { return !socket_.is_open(); }
  HttpClock::time_point since() const { return since_; }  // start of the current phase
  HttpClock::time_point deadline() const { return std::min(deadline_, shared_.end_by); }
  // Whether it may be closed for a new connection: no answer is pending.
  bool dispensable(HttpClock::time_point now) const;
  bool slow(HttpClock::time_point now) const { return now - since_ > shared_.options.slow_after; }

 private:
  static constexpr int kGone = -1;  // instead of a status: the client is gone
  static constexpr auto kNever = HttpClock::time_point::max();
  static constexpr std::size_t kPiece = 64U << 10U;  // bytes received at a time
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void now_doing(Doing doing, HttpClock::duration limit);
  asio::awaitable<bool> receive(std::size_t most);
  asio::awaitable<bool> write(std::string_view first, std::string_view second = {});
  asio::awaitable<int> receive_head(Parser& parser);
  static int take_head(const Parser::value_type& from, HttpRequest& request);
  asio::awaitable<int> receive_body(Parser& parser, std::size_t& counted);
  asio::awaitable<HttpReply> answer(HttpRequest request, Parser& parser);
  asio::awaitable<bool> serve_one();
  asio::awaitable<bool> reply_with(HttpReply reply, bool head_only, bool keep);
  asio::awaitable<void> stream(HttpReply reply, bool chunked);
  asio::awaitable<void> leave();

  asio::ip::tcp::socket socket_;
  const std::string client_;
  HttpShared& shared_;
  asio::thread_pool& pool_;
  asio::steady_timer pause_;
  boost::beast::flat_buffer buffer_;  // received but not yet parsed
  Doing doing_ = Doing::waiting;
  HttpClock::time_point since_, deadline_, begun_;
};

}  // namespace veche::web
