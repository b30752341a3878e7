#pragma once

#include <optional>
#include <string>

#include "web/http/http.h"

namespace veche::web {

// "localhost", ::1 or an address in 127.0.0.0/8; no other name, whatever it begins with or points to.
bool is_loopback(const std::string& host);
// 128 bits that nobody guesses, for an address.
std::string new_token();
std::string json_text(const std::string& text);  // in quotes, escaped
// {"error": sentence}
HttpReply refusal(int status, const std::string& sentence);
// For HttpHandler::refused; `most_body` is what the server was started with.
HttpReply refusal_of_server(int status, std::size_t most_body);

// Who may ask. On this machine alone everybody on it may, but no page of another site that a browser shows:
// it would come with another Host (a name that points here) or Origin. Elsewhere the token is needed, as
// ?token=.. or "Authorization: Bearer ..".
class Guard {
 public:
  Guard(std::string host, std::string token) : host_(std::move(host)), token_(std::move(token)) {}
  // The refusal; nothing: go on.
  std::optional<HttpReply> refuses(const HttpRequest& request) const;
  const std::string& token() const { return token_; }
  // What to open.
  std::string address(int port) const;

 private:
  bool knows_host(std::string_view authority) const;
  bool knows_origin(std::string_view origin) const;

  const std::string host_;
  const std::string token_;  // empty: none is needed
};

// Headers that a page of ours needs: nothing from elsewhere, nothing kept.
std::vector<std::pair<std::string, std::string>> page_headers();

}  // namespace veche::web
