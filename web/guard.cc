#include "web/guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>

namespace veche::web {
namespace {

// The host of "localhost:8080", "127.0.0.1" or "[::1]:8080"; nullopt for other forms.
std::optional<std::string> host_of(std::string_view authority) {
  const bool bracketed = authority.starts_with('[');
  const std::size_t end = bracketed ? authority.find(']') : authority.find(':');
  if (bracketed && end == std::string_view::npos) return std::nullopt;
  std::string host(bracketed ? authority.substr(1, end - 1) : authority.substr(0, end));
  const std::string_view port =
      end == std::string_view::npos ? "" : authority.substr(bracketed ? end + 1 : end);
  const bool right_port = port.empty() || (port.starts_with(':') && port.size() > 1 && port.size() <= 6 &&
                                           port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  if (host.empty() || !right_port) return std::nullopt;
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return std::tolower(c); });
  return host;
}

// The bytes of an address, IPv4 mapped to IPv6 ("::ffff:127.0.0.1"); empty for a name.
std::string address_bytes(const std::string& host) {
  std::array<char, 16> bytes{};
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return {bytes.data(), bytes.size()};
  bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\xff', '\xff'};
  if (::inet_pton(AF_INET, host.c_str(), bytes.data() + 12) == 1) return {bytes.data(), bytes.size()};
  return "";
}

// Compares in constant time.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  const std::string bytes = address_bytes(host);
  return !bytes.empty() &&
         (bytes == address_bytes("::1") || bytes.substr(0, 13) == address_bytes("127.0.0.1").substr(0, 13));
}

std::string new_token() {
  std::random_device random;  // the system's generator
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", static_cast<std::uint32_t>(random()));
  return token;
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpReply refusal(int status, const std::string& sentence) {
  return {.status = status, .body = "{\"error\":" + json_text(sentence) + "}\n"};
}

HttpReply refusal_of_server(int status, std::size_t most_body) {
  if (status == 413 && most_body == 0) return refusal(413, "this address accepts no body");
  if (status == 413)
    return refusal(413, fmt::format("the body is too large: at most {} MB", most_body / 1'000'000));
  if (status == 414) return refusal(414, "the address is too long");
  if (status == 415) return refusal(415, "the body must not be compressed: send it without Content-Encoding");
  if (status == 431) return refusal(431, "the request has too many headers, or they are too long");
  if (status == 404) return refusal(404, "no such page");
  if (status == 500) return refusal(500, "the request could not be answered");
  if (status == 503) return refusal(503, "too many requests: try again in a moment");
  return refusal(status, "this is not a request that can be understood");
}

bool Guard::knows_host(std::string_view authority) const {
  const auto host = host_of(authority);
  if (!host) return false;
  const std::string bytes = address_bytes(*host);
  return is_loopback(*host) || *host == host_ || (!bytes.empty() && bytes == address_bytes(host_));
}

bool Guard::knows_origin(std::string_view origin) const {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return knows_host(origin.substr(scheme.size()));
  return false;
}

std::optional<HttpReply> Guard::refuses(const HttpRequest& request) const {
  if (!token_.empty()) {
    const std::string_view bearer = request.header("authorization");
    const bool knows = same_secret(request.query_value("token"), token_) ||
                       (bearer.starts_with("Bearer ") && same_secret(bearer.substr(7), token_));
    if (knows) return std::nullopt;
    return refusal(401, "open the address that was printed when this was started: it has a token in it");
  }
  if (!knows_host(request.header("host")))
    return refusal(403, "ask for this by the address that was printed, not by another name");
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !knows_origin(origin)) return refusal(403, "pages of other sites may not ask");
  return std::nullopt;
}

std::string Guard::address(int port) const {
  const bool everywhere = host_ == "0.0.0.0" || host_ == "::";
  const std::string name = everywhere                             ? "HOST"
                           : host_.find(':') != std::string::npos ? "[" + host_ + "]"
                                                                  : host_;
  return fmt::format("http://{}:{}/{}", name, port, token_.empty() ? "" : "?token=" + token_);
}

std::vector<std::pair<std::string, std::string>> page_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-store"}};
}

}  // namespace veche::web
