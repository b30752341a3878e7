// The module veche_http: cpp-httplib behind our own interface, so that nobody else includes it.
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "veche/base/module_api.h"
#include "web/http/http.h"

namespace veche::web {
namespace {

constexpr int kSecondsToRead = 10;   // a request that has begun
constexpr int kSecondsToWrite = 10;  // to a reader who does not read
constexpr int kWaitingToBeLetIn = 256;
constexpr int kSecondsIdle = 2;  // a connection without a request; also how long an end may take

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request{from.method, from.path, from.body, {}, {}};
  for (const auto& [key, value] : from.params) request.query.emplace(key, value);
  for (const auto& [key, value] : from.headers) {
    std::string name = key;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers.emplace(std::move(name), value);
  }
  // The library takes forms apart; whoever sends a picture as one means the first file of it.
  if (!from.files.empty()) request.body = from.files.begin()->second.content;
  return request;
}

void fill(httplib::Response& response, HttpReply reply) {
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (!reply.stream) {
    response.set_content(std::move(reply.body), reply.type);
    return;
  }
  response.set_chunked_content_provider(
      reply.type, [stream = std::move(reply.stream)](std::size_t, httplib::DataSink& sink) {
        stream([&](std::string_view part) { return sink.write(part.data(), part.size()); });
        sink.done();
        return true;
      });
}

class Server final : public HttpServer {
 public:
  Server(const HttpOptions& options, Handler handler, std::function<HttpReply(int)> refused)
      : handler_(std::move(handler)), refused_(std::move(refused)) {
    const auto answer = [this](const httplib::Request& from, httplib::Response& response) {
      try {
        fill(response, handler_(request_of(from)));
      } catch (const std::exception& error) {
        fill(response, {.status = 500, .type = "text/plain", .body = std::string(error.what()) + "\n"});
      }
    };
    server_.Get(".*", answer).Post(".*", answer).Put(".*", answer).Patch(".*", answer);
    server_.Delete(".*", answer).Options(".*", answer);
    // Only for what never came as far as `answer`: its own errors have a body.
    server_.set_error_handler([this](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) fill(response, refused_(response.status));
    });
    server_.set_payload_max_length(options.most_body);
    server_.set_keep_alive_max_count(1'000'000);
    server_.set_keep_alive_timeout(kSecondsIdle);
    server_.set_read_timeout(kSecondsToRead);
    server_.set_write_timeout(kSecondsToWrite);
    server_.set_tcp_nodelay(true);
    server_.set_address_family(options.host.find(':') == std::string::npos ? AF_UNSPEC : AF_INET6);
    // Without SO_REUSEPORT, which would let two services share a port unseen.
    server_.set_socket_options([this](socket_t socket) {
      listening_ = socket;
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.new_task_queue = [count = options.connections] {
      return new httplib::ThreadPool(static_cast<std::size_t>(count));
    };
  }
  ~Server() override {
    stop();
    if (thread_.joinable()) thread_.join();
  }

  bool start(const HttpOptions& options) {
    port_ = options.port;
    if (port_ == 0)
      port_ = server_.bind_to_any_port(options.host);
    else if (!server_.bind_to_port(options.host, port_))
      port_ = -1;
    if (port_ < 0) return false;
    // The library lets five wait; a sixth who comes at the same moment would be let in a second later.
    ::listen(listening_, kWaitingToBeLetIn);
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      ended_ = true;
    });
    return true;
  }

  int port() const override { return port_; }
  void stop() override {
    stopping_ = true;
    // Before it listens the library would not notice.
    while (thread_.joinable() && !server_.is_running() && !ended_) std::this_thread::yield();
    server_.stop();
  }
  bool stopping() const override { return stopping_; }

 private:
  const Handler handler_;
  const std::function<HttpReply(int)> refused_;
  httplib::Server server_;
  socket_t listening_ = INVALID_SOCKET;  // the last one made, which is the one that is bound
  int port_ = -1;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace
}  // namespace veche::web

extern "C" VECHE_MODULE_API veche::web::HttpServer* veche_start_http_server(
    const veche::web::HttpOptions& options, veche::web::Handler* handler,
    std::function<veche::web::HttpReply(int)>* refused, std::string* why) {
  auto server = std::make_unique<veche::web::Server>(options, std::move(*handler), std::move(*refused));
  if (server->start(options)) return server.release();
  *why =
      "nothing can listen at " + options.host + ":" + std::to_string(options.port) +
      ": it is taken, not an address of this machine, or not allowed; choose another with --port or --host";
  return nullptr;
}
