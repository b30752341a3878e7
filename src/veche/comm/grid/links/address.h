#pragma once

#include <asio/ip/address.hpp>
#include <optional>
#include <string>
#include <vector>

namespace veche::grid {

// HOST:PORT, where the host may be an IP address: 10.0.0.7:4000, [fe80::1]:4000, lab.example:4000.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::optional<asio::ip::address> number;
};
// Throws MalformedMessage naming the text.
Address parse_address(const std::string& text);

// The addresses at which other machines may reach this listener. If it listens on all interfaces:
// their addresses, the loopback address last.
std::vector<std::string> own_addresses(const asio::ip::address& listening, std::uint16_t port);

}  // namespace veche::grid
