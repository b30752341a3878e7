#include "veche/comm/grid/links/address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>

#include "veche/base/text/host_port.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

std::string with_port(const asio::ip::address& address, std::uint16_t port) {
  const std::string text = address.to_string();
  return (address.is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

}  // namespace

Address parse_address(const std::string& text) {
  const auto place = read_host_port(text);
  if (!place) throw MalformedMessage("'" + text + "' is no HOST:PORT");
  Address address{place->host, place->port, {}};
  std::error_code no_number;
  const auto number = asio::ip::make_address(address.host, no_number);
  if (!no_number) address.number = number;
  return address;
}

std::vector<std::string> own_addresses(const asio::ip::address& listening, std::uint16_t port) {
  if (!listening.is_unspecified()) return {with_port(listening, port)};
  std::vector<std::string> found, loopback;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || (it->ifa_flags & IFF_UP) == 0 || it->ifa_addr->sa_family != AF_INET)
      continue;
    const auto* in = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
    const asio::ip::address_v4 address(ntohl(in->sin_addr.s_addr));
    (address.is_loopback() ? loopback : found).push_back(with_port(address, port));
  }
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

}  // namespace veche::grid
