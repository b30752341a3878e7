#include "veche/comm/sim/platform.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/log.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "veche/errors.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

// "host10" comes after "host9".
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

// The last words that SimGrid says before it gives up, without where in its source it says them.
std::string reason_in(const std::string& said) {
  std::string reason = "it is none of SimGrid's";
  for (std::size_t from = 0; from < said.size();) {
    const std::size_t to = std::min(said.find('\n', from), said.size());
    std::string line = said.substr(from, to - from);
    from = to + 1;
    if (const std::size_t end = line.rfind("] "); line.starts_with("[") && end != std::string::npos)
      line = line.substr(end + 2);
    if (line.find_first_not_of(" \t") == std::string::npos || line.starts_with("Backtrace") ||
        line.starts_with("  ->") || line.starts_with("Aborted") || line.starts_with("terminate"))
      continue;
    reason = line;
    break;
  }
  return reason.substr(0, 300);
}

s4u::LinkInRoute both_ways(s4u::SplitDuplexLink* link) { return {link, s4u::LinkInRoute::Direction::UP}; }

s4u::SplitDuplexLink* make_link(s4u::NetZone* zone, const std::string& name, const SimLink& link) {
  s4u::SplitDuplexLink* const made = zone->create_split_duplex_link(name, link.bandwidth);
  made->set_latency(link.latency)->seal();
  return made;
}

// Every node has a link to the middle of its site, a site one to the middle of all.
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

std::vector<s4u::Host*> sorted_hosts(const s4u::Engine& engine) {
  std::vector<s4u::Host*> hosts = engine.get_all_hosts();
  std::ranges::sort(hosts, by_number, [](const s4u::Host* host) { return host->get_name(); });
  return hosts;
}

}  // namespace

int hosts_in_platform(const std::string& file) {
  if (!std::filesystem::is_regular_file(file) || !std::ifstream(file))
    throw RequestError(fmt::format("network.platform = \"{}\" cannot be read: there is no such file", file));
  int answer[2], words[2];
  if (::pipe(answer) != 0 || ::pipe(words) != 0) throw RunError("no more pipes can be opened");
  const pid_t child = ::fork();
  if (child < 0) throw RunError("no process can be started to look at the platform");
  if (child == 0) {
    ::dup2(words[1], STDERR_FILENO);
    ::dup2(words[1], STDOUT_FILENO);
    for (const int end : {answer[0], words[0], words[1]}) ::close(end);
    int code = 1;
    try {
      s4u::Engine engine("platform");
      engine.load_platform(file);
      const int hosts = static_cast<int>(engine.get_host_count());
      code = ::write(answer[1], &hosts, sizeof hosts) == sizeof hosts ? 0 : 1;
    } catch (const std::exception& error) {
      const std::string what = error.what();
      if (::write(STDERR_FILENO, what.data(), what.size()) < 0) code = 2;
    }
    ::_exit(code);
  }
  ::close(answer[1]);
  ::close(words[1]);
  std::string said;
  char text[4096];
  for (ssize_t count = 0; (count = ::read(words[0], text, sizeof text)) > 0;)
    said.append(text, static_cast<std::size_t>(count));
  int hosts = 0;
  const bool told = ::read(answer[0], &hosts, sizeof hosts) == sizeof hosts;
  ::close(answer[0]);
  ::close(words[0]);
  ::waitpid(child, nullptr, 0);
  if (!told)
    throw RequestError(fmt::format("network.platform = \"{}\" cannot be read: {}", file, reason_in(said)));
  return hosts;
}

std::vector<s4u::Host*> build_platform(s4u::Engine& engine, int nodes, const SimNetwork& network) {
  std::vector<s4u::Host*> hosts;
  if (network.platform.empty()) {
    hosts = network.shape == SimNetwork::Shape::star ? build_star(network) : build_full(nodes, network);
  } else {
    engine.load_platform(network.platform);
    hosts = sorted_hosts(engine);
  }
  hosts.resize(static_cast<std::size_t>(nodes));
  return hosts;
}

}  // namespace veche
