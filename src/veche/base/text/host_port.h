#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace veche {

// A network address: 10.0.0.7:4000, [fe80::1]:4000, lab.example:4000.
struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

// Returns nullopt if the text is not HOST:PORT.
inline std::optional<HostPort> read_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return {};
  HostPort place;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, place.port);
  if (read.ec != std::errc{} || read.ptr != end) return {};
  place.host = text.substr(0, colon);
  if (place.host.size() > 1 && place.host.front() == '[' && place.host.back() == ']')
    place.host = place.host.substr(1, place.host.size() - 2);
  return place;
}

}  // namespace veche
