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
  std::map<std::string, std::string> query;    // of the URL, decoded
  std::map<std::string, std::string> headers;  // names in lower case

  std::string_view header(const std::string& name) const;
  // The value of a query key, or `fallback`.
  std::string query_value(const std::string& key, const std::string& fallback = "") const;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // For a stream, instead of `body`: called about five times a second for the next part. Empty
  // parts are not sent. Must not block. A client that does not read is dropped.
  std::function<std::string()> parts = {};
  // Asked after each part: true ends the stream. Empty: it ends with the server.
  std::function<bool()> ended = {};
};

// Answers requests. Must outlive the server.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Decides from the headers alone, before any byte of the body is read. Returns a refusal, or an
  // answer that needs no body; nullopt: read the body and call `answer`. Runs on the thread that
  // serves every connection: must not block.
  virtual std::optional<HttpReply> admit(const HttpRequest& head) = 0;
  // May block; up to HttpOptions::threads calls at once. An exception becomes refused(500).
  virtual HttpReply answer(const HttpRequest& request) = 0;
  // The answer to a request that did not reach `admit`, or that exceeded a limit. Any thread.
  virtual HttpReply refused(int status) = 0;
};

// One client address gets at most half of each limit on connections.
struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any free port
  std::size_t most_body = 32U << 20U;
  std::size_t bodies_in_all = 128U << 20U;  // bytes of bodies being read or answered
  int threads = 64;                         // threads that call `answer`
  int connections = 256;                    // open connections; a new one replaces the one idle longest
  int answers = 128;                        // requests whose body is being read or answered
  int streams = 64;                         // endless answers
  // Deadlines. Trickling bytes do not extend them.
  std::chrono::milliseconds to_idle{15'000};
  std::chrono::milliseconds to_send_head{5'000};      // since its first byte
  std::chrono::milliseconds to_send_request{30'000};  // head and body
  std::chrono::milliseconds to_read_answer{10'000};   // or one part of a stream
  // A client slower than this in sending its body or reading its answer may be dropped for others.
  std::chrono::milliseconds slow_after{1'000};
  std::chrono::milliseconds to_end{1'000};  // for answers in progress when the server ends
};

// Serves while it lives. The destructor closes all connections at once, except those with a
// complete request, which get HttpOptions::to_end.
class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

// Needs the module veche_http. Throws RequestError if it is missing or the address is in use.
std::unique_ptr<HttpServer> start_http_server(const HttpOptions& options, HttpHandler& handler);

// The one symbol of the module. Fills `why` if it returns null.
using StartHttpServer = HttpServer*(const HttpOptions&, HttpHandler&, std::string* why);
inline constexpr char kStartHttpServer[] = "veche_start_http_server";

}  // namespace veche::web
