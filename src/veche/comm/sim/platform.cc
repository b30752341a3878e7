#include "veche/comm/sim/platform.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "veche/errors.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

// Natural order: "host10" comes after "host9".
bool by_number(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    std::size_t k = i, l = j;
    while (k < a.size() && digit(a[k])) ++k;
    while (l < b.size() && digit(b[l])) ++l;
    while (i + 1 < k && a[i] == '0') ++i;
    while (j + 1 < l && b[j] == '0') ++j;
    if (k - i != l - j) return k - i < l - j;
    if (const int order = a.compare(i, k - i, b, j, l - j); order != 0) return order < 0;
    i = k, j = l;
  }
  return a.size() - i < b.size() - j;
}

s4u::LinkInRoute both_ways(s4u::SplitDuplexLink* link) { return {link, s4u::LinkInRoute::Direction::UP}; }

s4u::SplitDuplexLink* make_link(s4u::NetZone* zone, const std::string& name, const SimLink& link) {
  s4u::SplitDuplexLink* const made = zone->create_split_duplex_link(name, link.bandwidth);
  made->set_latency(link.latency)->seal();
  return made;
}

// Every node has a link to the centre of its site, and every site a link to the centre of the
// network.
std::vector<s4u::Host*> build_star(const SimNetwork& network) {
  std::vector<s4u::Host*> hosts;
  s4u::NetZone* const root = s4u::create_star_zone("network");
  for (std::size_t i = 0; i < network.sites.size(); ++i) {
    const SimSite& site = network.sites[i];
    s4u::NetZone* zone = root;
    if (site.has_uplink) {
      zone = s4u::create_star_zone(fmt::format("site{}", i));
      zone->set_parent(root);
    }
    for (const SimLink& link : site.links) {
      const std::string name = std::to_string(hosts.size());
      hosts.push_back(zone->create_host("node" + name, network.speed.at(hosts.size())));
      zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr,
                      {both_ways(make_link(zone, "link" + name, link))}, true);
    }
    if (!site.has_uplink) continue;
    auto* const gateway = zone->create_router(fmt::format("gateway{}", i));
    zone->seal();
    root->add_route(zone->get_netpoint(), nullptr, gateway, nullptr,
                    {both_ways(make_link(root, fmt::format("uplink{}", i), site.uplink))}, true);
  }
  root->seal();
  return hosts;
}

std::vector<s4u::Host*> build_full(int nodes, const SimNetwork& network) {
  std::vector<s4u::Host*> hosts;
  s4u::NetZone* const root = s4u::create_full_zone("network");
  for (int i = 0; i < nodes; ++i)
    hosts.push_back(
        root->create_host(fmt::format("node{}", i), network.speed.at(static_cast<std::size_t>(i))));
  for (int i = 0; i < nodes; ++i)
    for (int j = i + 1; j < nodes; ++j)
      root->add_route(hosts[static_cast<std::size_t>(i)]->get_netpoint(),
                      hosts[static_cast<std::size_t>(j)]->get_netpoint(), nullptr, nullptr,
                      {both_ways(make_link(root, fmt::format("link{}-{}", i, j), network.pair))}, true);
  root->seal();
  return hosts;
}

// The text for SimGrid, as a file that no other process can change.
class PlatformInMemory {
 public:
  explicit PlatformInMemory(const std::string& text) : descriptor_(::memfd_create("platform", MFD_CLOEXEC)) {
    std::size_t written = 0;
    while (descriptor_ >= 0 && written < text.size()) {
      const ssize_t count = ::write(descriptor_, text.data() + written, text.size() - written);
      if (count <= 0) break;
      written += static_cast<std::size_t>(count);
    }
    if (written < text.size()) throw RunError("there is no room in memory for the text of the platform");
  }
  ~PlatformInMemory() { ::close(descriptor_); }
  PlatformInMemory(const PlatformInMemory&) = delete;
  PlatformInMemory& operator=(const PlatformInMemory&) = delete;
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace

void load_platform(s4u::Engine& engine, const SimPlatform& platform) {
  const PlatformInMemory source(platform.xml);
  engine.load_platform(source.path());
}

std::vector<s4u::Host*> sorted_hosts(const s4u::Engine& engine) {
  std::vector<s4u::Host*> hosts = engine.get_all_hosts();
  std::ranges::sort(hosts, by_number, [](const s4u::Host* host) { return host->get_name(); });
  return hosts;
}

std::vector<s4u::Link*> links_named(const s4u::Engine& engine, const std::string& name) {
  std::vector<s4u::Link*> links;
  for (const char* direction : {"", "_UP", "_DOWN"})
    if (s4u::Link* const link = engine.link_by_name_or_null(name + direction)) links.push_back(link);
  return links;
}

std::vector<s4u::Host*> build_platform(s4u::Engine& engine, int nodes, const SimNetwork& network,
                                       const SimPlatform& platform) {
  std::vector<s4u::Host*> hosts;
  if (platform.file.empty()) {
    hosts = network.shape == SimNetwork::Shape::star ? build_star(network) : build_full(nodes, network);
  } else {
    load_platform(engine, platform);
    hosts = sorted_hosts(engine);
  }
  hosts.resize(static_cast<std::size_t>(nodes));
  return hosts;
}

}  // namespace veche
