#include "web/guard.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

namespace veche::web {
namespace {

// "localhost:8080" and "[::1]:8080" without the port.
std::string_view without_port(std::string_view name) {
  if (name.starts_with("[")) return name.substr(1, name.find(']') - 1);
  return name.substr(0, name.find(':'));
}

// In a time that tells nothing of where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

}  // namespace

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string new_token() {
  std::random_device random;  // the system's
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
  if (status == 413)
    return refusal(413, fmt::format("that is too much: {} MB are the most", most_body / 1'000'000));
  if (status == 414) return refusal(414, "the address is too long");
  if (status == 404) return refusal(404, "there is nothing of this name here");
  return refusal(status, "this is not a request that can be understood");
}

bool Guard::knows_host(std::string_view name) const {
  const std::string host(without_port(name));
  return host == host_ || is_loopback(host);
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
  const std::size_t slashes = origin.find("//");
  if (!origin.empty() && (slashes == std::string_view::npos || !knows_host(origin.substr(slashes + 2))))
    return refusal(403, "pages of other sites may not ask");
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
