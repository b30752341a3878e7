#include "web/http/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "web/http/parts.h"

namespace veche::web {
namespace {

using namespace std::chrono_literals;
constexpr auto kLong = 60s;  // longer than anything takes on a busy machine

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4096;  // small buffers, so that unread data do not disappear in them
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    const timeval patience{std::chrono::seconds(kLong).count(), 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("the server cannot be reached");
  }
  Client(int port, const std::string& text) : Client(port) { send(text); }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool send(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Reads at least this many bytes, or everything until the server closes.
  std::string read(std::size_t least = ~std::size_t{0}) const {
    std::string text;
    for (char piece[4096]; text.size() < least;) {
      const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
      if (count < 0 && errno == EAGAIN) throw std::runtime_error("nothing came");
      if (count <= 0) break;
      text.append(piece, static_cast<std::size_t>(count));
    }
    return text;
  }
  int status() const {
    const std::string line = read(12);
    return line.starts_with("HTTP/1.1 ") ? std::stoi(line.substr(9)) : 0;
  }
  // Whether the server has closed the connection, or closes it while bytes are sent.
  bool dropped_while_sending(const std::string& trickle) const {
    for (const auto end = std::chrono::steady_clock::now() + kLong; std::chrono::steady_clock::now() < end;) {
      char byte = 0;
      const ssize_t count = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN)) return true;
      if (!send(trickle)) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }

 private:
  const int socket_;
};

// Echoes the request; /held waits until it is released.
class Echo : public HttpHandler {
 public:
  std::optional<HttpReply> admit(const HttpRequest& head) override {
    if (head.path == "/quick") return HttpReply{.body = "quick"};
    if (head.path == "/stream") return HttpReply{.parts = [] { return std::string(1U << 20U, 'x'); }};
    if (head.path == "/ticks") return HttpReply{.parts = [] { return std::string("tick"); }};
    if (head.path == "/forbidden") return HttpReply{.status = 403};
    if (head.path == "/broken") throw std::runtime_error("broken");
    return std::nullopt;
  }
  HttpReply answer(const HttpRequest& request) override {
    if (request.path == "/throws") throw std::runtime_error("no");
    std::unique_lock lock(mutex_);
    ++answering_;
    changed_.notify_all();
    if (request.path == "/held") changed_.wait_for(lock, kLong, [&] { return let_go_; });
    return {.body = request.query_value("say") + request.body};
  }
  HttpReply refused(int status) override { return {.status = status}; }

  void let_go() {
    const std::lock_guard lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }
  bool until_answering(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return answering_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int answering_ = 0;
  bool let_go_ = false;
};

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"; }
std::string post(const std::string& path, std::size_t length, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" +
         body;
}

TEST(Http, AnswersInOrderWhatCameTogether) {
  Echo echo;
  const auto server = start_http_server({.threads = 2}, echo);
  const Client client(server->port(), get("/a?say=one+%2Btwo") + post("/b", 4, "body") + get("/quick") +
                                          "GET /quick HTTP/1.0\r\n\r\n");
  const std::string all = client.read();
  const auto one = all.find("one +two"), body = all.find("body"), quick = all.find("quick");
  EXPECT_LT(one, body);
  EXPECT_LT(body, quick);
  EXPECT_NE(quick, all.rfind("quick"));
}

TEST(Http, TheHeadDecidesBeforeTheBodyIsRead) {
  Echo echo;
  const auto server = start_http_server({.most_body = 100, .threads = 1}, echo);
  const int port = server->port();
  // The bytes of these bodies are never sent.
  EXPECT_EQ(Client(port, post("/forbidden", 50, "")).status(), 403);
  EXPECT_EQ(Client(port, post("/a", 101, "")).status(), 413);
  EXPECT_EQ(Client(port, "POST /a HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n").status(),
            415);
  EXPECT_EQ(Client(port, "POST /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n").status(), 501);
  // Chunks are counted as they arrive.
  const std::string chunked = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Client(port, chunked + "60\r\n" + std::string(0x60, 'x') + "\r\n60\r\n").status(), 413);
  EXPECT_EQ(Client(port, chunked + "ffffffffffffffff\r\n").status(), 413);
  EXPECT_EQ(Client(port, chunked + "3\r\nabc\r\n0\r\n\r\n").status(), 200);
  EXPECT_EQ(Client(port, chunked + "1;" + std::string(200'000, 'e')).status(), 400);
  EXPECT_EQ(Client(port, get("/broken")).status(), 500);
  EXPECT_EQ(Client(port, get("/throws")).status(), 500);
}

TEST(Http, BytesThatTrickleInProlongNoDeadline) {
  Echo echo;
  const auto server = start_http_server(
      {.threads = 1, .to_idle = 50ms, .to_send_head = 100ms, .to_send_request = 100ms}, echo);
  EXPECT_TRUE(Client(server->port()).dropped_while_sending(""));
  EXPECT_TRUE(Client(server->port(), "GET /").dropped_while_sending("x"));
  EXPECT_TRUE(Client(server->port(), post("/a", 1'000'000, "")).dropped_while_sending("x"));
}

TEST(Http, AClientThatDoesNotReadIsDropped) {
  Echo echo;
  const auto server = start_http_server({.threads = 1, .streams = 2, .to_read_answer = 100ms}, echo);
  const Client viewer(server->port(), get("/stream"));
  ASSERT_EQ(viewer.read(1).substr(0, 1), "H");
  // The client's only place is free again once it was dropped.
  for (int status = 503; status != 200;) status = Client(server->port(), get("/stream")).status();
}

TEST(Http, TheLongestIdleConnectionMakesRoom) {
  Echo echo;
  const auto server = start_http_server({.threads = 1, .connections = 8}, echo);
  const Client first(server->port(), get("/quick")), held(server->port(), get("/held"));
  EXPECT_EQ(first.status(), 200);
  ASSERT_TRUE(echo.until_answering(1));
  std::vector<std::unique_ptr<Client>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<Client>(server->port(), get("/quick")));
    EXPECT_EQ(others.back()->status(), 200);
  }
  first.read();  // until it is closed
  echo.let_go();
  EXPECT_EQ(held.status(), 200);  // its request was complete, so it kept its place
}

TEST(Http, EachClientHasHalfOfThePlaces) {
  Echo echo;
  const auto server =
      start_http_server({.bodies_in_all = 50, .threads = 1, .answers = 4, .streams = 4}, echo);
  const Client one(server->port(), get("/ticks")), two(server->port(), get("/ticks"));
  EXPECT_EQ(one.status(), 200);
  EXPECT_EQ(two.status(), 200);
  EXPECT_EQ(Client(server->port(), get("/ticks")).status(), 503);
  EXPECT_EQ(Client(server->port(), post("/a", 51, std::string(51, 'x'))).status(), 503);
  EXPECT_EQ(Client(server->port(), post("/a", 50, std::string(50, 'x'))).status(), 200);
  const Client held(server->port(), get("/held"));
  ASSERT_TRUE(echo.until_answering(2));
  const Client waiting(server->port(), get("/a"));  // for the only thread
  while (Client(server->port(), get("/a")).status() != 503) {
  }
  EXPECT_EQ(Client(server->port(), get("/quick")).status(), 200);
  echo.let_go();
  EXPECT_EQ(waiting.status(), 200);
}

TEST(Http, ASlowBodyMakesRoomForAnother) {
  Echo echo;
  const auto server = start_http_server({.threads = 1, .answers = 2, .slow_after = 50ms}, echo);
  const Client slow(server->port(), post("/a", 9, "x"));
  while (Client(server->port(), post("/a", 1, "x")).status() != 200) {
  }
  EXPECT_EQ(slow.read(), "");
}

TEST(Http, TheEndWaitsForAnswersUnderWayAndForNobodyElse) {
  Echo echo;
  auto server = start_http_server({.threads = 1, .to_end = kLong}, echo);
  const Client slow(server->port(), "GET /slow"), viewer(server->port(), get("/ticks")),
      body(server->port(), post("/a", 9, "x"));
  EXPECT_EQ(viewer.status(), 200);
  const Client held(server->port(), get("/held"));
  ASSERT_TRUE(echo.until_answering(1));
  std::thread ending([&] { server.reset(); });
  slow.read();
  viewer.read();
  body.read();
  echo.let_go();
  EXPECT_EQ(held.status(), 200);
  ending.join();
}

TEST(Http, NothingIsWaitedForWhereNoTimeIsGiven) {
  Echo echo;
  auto server = start_http_server({.threads = 1, .to_end = 0ms}, echo);
  const Client held(server->port(), get("/held"));
  ASSERT_TRUE(echo.until_answering(1));
  std::thread ending([&] { server.reset(); });
  EXPECT_EQ(held.read(), "");
  echo.let_go();  // a running handler is not interrupted
  ending.join();
}

TEST(Http, TargetsAndForms) {
  HttpRequest request;
  ASSERT_TRUE(take_target("/a%20b%2?x=1&y&z=%41+b&&=#f?g=1", request));
  EXPECT_EQ(request.path, "/a b%2");
  EXPECT_EQ(request.query,
            (std::map<std::string, std::string>{{"", ""}, {"x", "1"}, {"y", ""}, {"z", "A b"}}));
  EXPECT_FALSE(take_target("http://a/", request));
  EXPECT_FALSE(take_target("*", request));
  const std::string type = "multipart/form-data; boundary=\"b\"";
  EXPECT_EQ(first_of_form(type, "--b\r\nname: x\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n"), "one");
  EXPECT_EQ(first_of_form(type, "--b\r\n\r\n\r\n--b--"), "");
  EXPECT_FALSE(first_of_form(type, "--b\r\n\r\nno end"));
  EXPECT_FALSE(first_of_form("multipart/form-data; boundary=", "--"));
  EXPECT_FALSE(first_of_form("image/png", "--b\r\n\r\none\r\n--b--"));
}

}  // namespace
}  // namespace veche::web
