#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veche::web {

struct HttpRequest {
  std::string method;  // "GET", "HEAD", "POST"
  std::string path;    // "/predict"
  std::string body;
  std::map<std::string, std::string> query;    // of the address, decoded
  std::map<std::string, std::string> headers;  // names in small letters

  std::string_view header(const std::string& name) const;
  // The value of a key of the query; `fallback` where it is not there.
  std::string query_value(const std::string& key, const std::string& fallback = "") const;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // An answer without an end, in place of `body`: called about five times a second for the next part; an
  // empty part is not sent. Must not wait. A client that does not read its parts is dropped.
  std::function<std::string()> parts = {};
};

// Answers requests. Must outlive the server.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Decides from the head alone, before one byte of the body is read: a refusal, or an answer that needs no
  // body. Nothing: the body is read and `answer` is called. One thread, which serves every connection: must
  // not wait.
  virtual std::optional<HttpReply> admit(const HttpRequest& head) = 0;
  // May take its time; HttpOptions::threads at once. An exception becomes refused(500).
  virtual HttpReply answer(const HttpRequest& request) = 0;
  // The answer where no request came as far as `admit`, or a limit was reached. Any thread.
  virtual HttpReply refused(int status) = 0;
};

// One client address gets half of each number of connections.
struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: one that is free
  std::size_t most_body = 32U << 20U;
  std::size_t bodies_in_all = 128U << 20U;  // being read or answered
  int threads = 64;                         // that call `answer`
  int connections = 256;                    // open; the longest idle one makes room for a new one
  int answers = 128;                        // whose body is read or that `answer` works on
  int streams = 64;                         // answers without an end
  // Deadlines. Bytes that trickle in do not prolong them.
  std::chrono::milliseconds to_idle{15'000};
  std::chrono::milliseconds to_send_head{5'000};      // since its first byte
  std::chrono::milliseconds to_send_request{30'000};  // head and body
  std::chrono::milliseconds to_read_answer{10'000};   // or one part of a stream
  // A client that takes longer to send its body or to read its answer makes room for others.
  std::chrono::milliseconds slow_after{1'000};
  std::chrono::milliseconds to_end{1'000};  // answers under way when the server ends
};

// Serves while it lives. At its end it closes every connection at once, but those whose request is complete:
// they have HttpOptions::to_end.
class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

// Needs the module veche_http. Throws RequestError: it is missing, or the place is taken.
std::unique_ptr<HttpServer> start_http_server(const HttpOptions& options, HttpHandler& handler);

// The one symbol of the module; `why` is filled where it gives none.
using StartHttpServer = HttpServer*(const HttpOptions&, HttpHandler&, std::string* why);
inline constexpr char kStartHttpServer[] = "veche_start_http_server";

}  // namespace veche::web
