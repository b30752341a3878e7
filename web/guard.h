#pragma once

#include <optional>
#include <string>

#include "web/http/http.h"

namespace veche::web {

// "localhost", ::1 or an address in 127.0.0.0/8. No other name, whatever it begins with or resolves
// to.
bool is_loopback(const std::string& host);
// 128 random bits, for use in a URL.
std::string new_token();
std::string json_text(const std::string& text);  // quoted and escaped
// {"error": sentence}
HttpReply refusal(int status, const std::string& sentence);
// For HttpHandler::refused; `most_body` is the server's limit.
HttpReply refusal_of_server(int status, std::size_t most_body);

// Access control. On a loopback address any local client may ask, except pages of other sites in a
// browser: those send another Host (a name that resolves here) or Origin. On other addresses a
// token is required, as ?token=.. or "Authorization: Bearer ..".
class Guard {
 public:
  Guard(std::string host, std::string token) : host_(std::move(host)), token_(std::move(token)) {}
  // The refusal, or nullopt to continue.
  std::optional<HttpReply> refuses(const HttpRequest& request) const;
  const std::string& token() const { return token_; }
  // The URL to open.
  std::string address(int port) const;

 private:
  bool knows_host(std::string_view authority) const;
  bool knows_origin(std::string_view origin) const;

  const std::string host_;
  const std::string token_;  // empty: not required
};

// Headers of our pages: nothing is loaded from elsewhere, nothing is cached.
std::vector<std::pair<std::string, std::string>> page_headers();

}  // namespace veche::web
