#include "web/http/parts.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <cstdio>

namespace veche::web {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Text that is not an escape stands for itself.
std::string decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

}  // namespace

bool take_target(std::string_view target, HttpRequest& request) {
  if (!target.starts_with('/')) return false;
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  request.path = decoded(target.substr(0, question), false);
  std::string_view rest = question == std::string_view::npos ? "" : target.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    if (!pair.empty()) request.query.emplace(decoded(pair.substr(0, equals), true), decoded(value, true));
  }
  return true;
}

std::optional<std::string> first_of_form(std::string_view type, std::string_view body) {
  if (!type.starts_with("multipart/form-data")) return std::nullopt;
  const std::size_t at = type.find("boundary=");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view boundary = type.substr(at + 9);
  boundary = boundary.starts_with('"') ? boundary.substr(1, boundary.find('"', 1) - 1)
                                       : boundary.substr(0, boundary.find_first_of("; "));
  if (boundary.empty() || boundary.size() > 70) return std::nullopt;  // the maximum in RFC 2046
  const std::string line = "--" + std::string(boundary);
  const std::size_t first = body.find(line);
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t head = body.find("\r\n\r\n", first);
  if (head == std::string_view::npos) return std::nullopt;
  const std::size_t end = body.find("\r\n" + line, head + 2);  // an empty part ends right after its headers
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(body.substr(std::min(head + 4, end), end - std::min(head + 4, end)));
}

std::string head_of(const HttpReply& reply, bool keep, bool chunked) {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(reply.status));
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + std::string(reason) + "\r\n";
  head += "Content-Type: " + reply.type + "\r\n";
  if (!reply.parts) head += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  if (!keep) head += "Connection: close\r\n";
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  return head + "\r\n";
}

std::string chunk_of(std::string_view part) {
  std::array<char, 20> length{};
  std::snprintf(length.data(), length.size(), "%zx\r\n", part.size());
  return length.data() + std::string(part) + "\r\n";
}

}  // namespace veche::web
