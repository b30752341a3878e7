// The module veche_http. One thread handles the I/O of all connections (Asio) and parses requests
// (Boost.Beast), so that clients cost no threads. A pool computes answers.
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <thread>
#include <unordered_set>
#include <utility>

#include "veche/base/module_api.h"
#include "web/http/connection.h"
#include "web/http/parts.h"

namespace veche::web {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kBetweenSweeps = 100ms;
constexpr auto kWithoutDescriptors = 50ms;
constexpr int kSendBuffer = 256 << 10;  // kernel buffer for a client that does not read

// IPv6 assigns a /64 network to every home: it counts as one client.
std::string client_of(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
  const auto bytes = v6.to_bytes();
  return {bytes.begin(), bytes.begin() + 8};
}

class Server final : public HttpServer {
 public:
  Server(const HttpOptions& options, HttpHandler& handler)
      : shared_(options, handler),
        open_(options.connections),
        acceptor_(io_),
        sweep_(io_),
        pool_(static_cast<std::size_t>(options.threads)) {
    shared_.drop_slow_body = [this](const std::string& client) { return drop_slow_body(client); };
  }

  ~Server() override {
    if (thread_.joinable()) {
      asio::post(io_, [this] { end(); });
      thread_.join();
    }
    pool_.stop();  // drops queued work; the destructors of pool and context drop the rest
    pool_.join();
  }

  bool start() {
    asio::error_code error;
    const auto found = tcp::resolver(io_).resolve(shared_.options.host, std::to_string(shared_.options.port),
                                                  tcp::resolver::passive, error);
    for (const auto& entry : found)
      if (!error && listens(entry.endpoint())) {
        asio::co_spawn(io_, accept(), asio::detached);
        thread_ = std::thread([this] { io_.run(); });
        return true;
      }
    return false;
  }

  int port() const override { return port_; }

 private:
  bool listens(const tcp::endpoint& at) {
    asio::error_code error, ignored;
    acceptor_.close(ignored);
    acceptor_.open(at.protocol(), error);
    // SO_REUSEPORT would let two services share a port unnoticed.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return !error;
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause(io_);
    while (!shared_.ending) {
      asio::error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (!acceptor_.is_open()) co_return;
      if (error) {  // usually out of file descriptors
        make_room("");
        pause.expires_after(kWithoutDescriptors);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      const auto from = socket.remote_endpoint(error);
      if (error) continue;
      const std::string client = client_of(from.address());
      if (!open_.take(client) && !(make_room(client) && open_.take(client))) {
        turn_away(socket);
        continue;
      }
      socket.set_option(tcp::no_delay(true), error);
      socket.set_option(tcp::socket::send_buffer_size(kSendBuffer), error);
      const auto connection = std::make_shared<Connection>(std::move(socket), client, shared_, pool_);
      connections_.insert(connection);
      if (!std::exchange(sweeping_, true)) asio::co_spawn(io_, sweep(), asio::detached);
      asio::co_spawn(io_, serve(connection), asio::detached);
    }
  }

  asio::awaitable<void> serve(std::shared_ptr<Connection> connection) {
    co_await connection->serve();
    drop(connection);
  }

  void drop(std::shared_ptr<Connection> connection) {
    if (connections_.erase(connection) == 0) return;
    connection->close();
    open_.give(connection->client());
    if (shared_.ending && connections_.empty()) io_.stop();
  }

  // Closes the connection that has been idle longest.
  bool make_room(const std::string& client) {
    return drop_oldest(client,
                       [now = HttpClock::now()](const Connection& one) { return one.dispensable(now); });
  }
  bool drop_slow_body(const std::string& client) {
    return drop_oldest(client, [now = HttpClock::now()](const Connection& one) {
      return one.doing() == Connection::Doing::receiving && one.slow(now);
    });
  }
  // Of the client that exceeds its share, or else of all clients.
  template <class Eligible>
  bool drop_oldest(const std::string& client, const Eligible& eligible) {
    for (const bool own : {true, false}) {
      std::shared_ptr<Connection> oldest;
      for (const auto& one : connections_)
        if ((!own || one->client() == client) && eligible(*one) &&
            (!oldest || one->since() < oldest->since()))
          oldest = one;
      if (!oldest) continue;
      drop(oldest);
      return true;
    }
    return false;
  }

  void turn_away(tcp::socket& socket) {
    HttpReply reply = shared_.handler.refused(503);
    reply.headers.emplace_back("Retry-After", "1");
    asio::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(head_of(reply, false, false) + reply.body), ignored);
  }

  // While there are connections: closes those whose deadline has passed.
  asio::awaitable<void> sweep() {
    asio::error_code ignored;
    do {
      sweep_.expires_after(kBetweenSweeps);
      co_await sweep_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      const auto now = HttpClock::now();
      const auto all = connections_;
      for (const auto& one : all)
        if (one->deadline() < now) drop(one);
    } while (!connections_.empty());
    sweeping_ = false;
  }

  // Complete requests get some time for their answers; all other connections close at once.
  void end() {
    shared_.ending = true;
    asio::error_code ignored;
    acceptor_.close(ignored);
    shared_.end_by = HttpClock::now() + shared_.options.to_end;
    const auto all = connections_;
    for (const auto& one : all) {
      const auto doing = one->doing();
      const bool asked = doing == Connection::Doing::answering || doing == Connection::Doing::writing;
      if (!asked || shared_.options.to_end == 0ms) drop(one);
    }
    if (connections_.empty()) io_.stop();
  }

  HttpShared shared_;
  Places open_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer sweep_;
  bool sweeping_ = false;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  asio::thread_pool pool_;
  int port_ = -1;
  std::thread thread_;
};

}  // namespace
}  // namespace veche::web

extern "C" VECHE_MODULE_API veche::web::HttpServer* veche_start_http_server(
    const veche::web::HttpOptions& options, veche::web::HttpHandler& handler, std::string* why) {
  auto server = std::make_unique<veche::web::Server>(options, handler);
  if (server->start()) return server.release();
  *why =
      "nothing can listen at " + options.host + ":" + std::to_string(options.port) +
      ": it is taken, not an address of this machine, or not allowed; choose another with --port or --host";
  return nullptr;
}
