#pragma once

#include <asio/ip/address.hpp>
#include <optional>
#include <string>
#include <vector>

namespace veche::grid {

// HOST:PORT, where the host may be a number: 10.0.0.7:4000, [fe80::1]:4000, lab.example:4000.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::optional<asio::ip::address> number;
};
// Throws MalformedMessage, naming it.
Address parse_address(const std::string& text);

// Where others may reach who listens there: the addresses of this host's interfaces where it listens
// everywhere, with that of this host alone last.
std::vector<std::string> own_addresses(const asio::ip::address& listening, std::uint16_t port);

}  // namespace veche::grid
