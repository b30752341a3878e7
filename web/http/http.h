#pragma once

#include <functional>
#include <map>
#include <memory>
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

// Writes a part of an answer that goes on; false: the reader has gone.
using Sink = std::function<bool(std::string_view part)>;

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // An answer without an end, in place of `body`: called in the connection's thread until it returns. It must
  // return soon once `stopping()` (HttpServer) is true.
  std::function<void(const Sink&)> stream = {};
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: one that is free
  std::size_t most_body = 32U << 20U;
  int connections = 64;  // served at once; others wait
};

// Called by any number of threads at once. What it throws becomes 500 and a sentence.
using Handler = std::function<HttpReply(const HttpRequest&)>;

// Serves while it lives; ends by answering what was asked already.
class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  // From now on nothing new is taken. Any thread.
  virtual void stop() = 0;
  virtual bool stopping() const = 0;
};

// Needs the module veche_http (cpp-httplib). Throws RequestError: it is missing, or the place is taken.
// `refused`: what to answer when a body is larger than allowed, a method unknown or a request no HTTP, given
// the status.
std::unique_ptr<HttpServer> start_http_server(const HttpOptions& options, Handler handler,
                                              std::function<HttpReply(int status)> refused);

// The one symbol of the module; `why` is filled where it gives none.
using StartHttpServer = HttpServer*(const HttpOptions&, Handler*, std::function<HttpReply(int)>*,
                                    std::string* why);
inline constexpr char kStartHttpServer[] = "veche_start_http_server";

}  // namespace veche::web
