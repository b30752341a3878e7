#include "cli/topology/topology_network.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/config.h"
#include "veche/errors.h"
#include "veche/graph/drawing/picture.h"
#include "veche/runtime/config/network_keys.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDrawn = 2000;
constexpr double kTau = 2 * std::numbers::pi;

std::string rate(double bytes) {
  const double bits = 8 * bytes;
  return bits >= 1e9   ? fmt::format("{:.4g} Gbit/s", bits / 1e9)
         : bits >= 1e6 ? fmt::format("{:.4g} Mbit/s", bits / 1e6)
                       : fmt::format("{:.4g} kbit/s", bits / 1e3);
}

std::string delay(double seconds) {
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", 1e3 * seconds) : fmt::format("{:.4g} us", 1e6 * seconds);
}

std::string words(const SimLink& link) { return rate(link.bandwidth) + ", " + delay(link.latency); }

Json to_json(const SimLink& link) { return {{"bandwidth", link.bandwidth}, {"latency", link.latency}}; }

Json to_json(const SimNetwork& network, int nodes) {
  Json json{
      {"nodes", nodes}, {"model", network.lv08 ? "LV08" : "CM02"}, {"crosstraffic", network.crosstraffic}};
  if (network.shape == SimNetwork::Shape::full) {
    json["shape"] = "full";
    json["link"] = to_json(network.pair);
    return json;
  }
  json["shape"] = "star";
  json["sites"] = Json::array();
  for (const SimSite& site : network.sites) {
    Json row{{"nodes", site.links.size()}, {"links", Json::array()}};
    for (const SimLink& link : site.links) row["links"].push_back(to_json(link));
    if (site.has_uplink) row["uplink"] = to_json(site.uplink);
    json["sites"].push_back(std::move(row));
  }
  return json;
}

std::string to_text(const SimNetwork& network, int nodes) {
  if (network.shape == SimNetwork::Shape::full)
    return fmt::format("{} nodes, every two with a link of {}\n", nodes, words(network.pair));
  Table table({"site", "nodes", "a node's link", "uplink"});
  std::size_t first = 0;
  for (std::size_t i = 0; i < network.sites.size(); ++i) {
    const SimSite& site = network.sites[i];
    const bool alike = std::ranges::all_of(site.links, [&](const SimLink& link) {
      return link.bandwidth == site.links.front().bandwidth && link.latency == site.links.front().latency;
    });
    table.row({std::to_string(i), fmt::format("{} to {}", first, first + site.links.size() - 1),
               alike ? words(site.links.front()) : "unequal", site.has_uplink ? words(site.uplink) : ""});
    first += site.links.size();
  }
  return table.text();
}

// Sites around the centre, nodes around their site.
class NetworkPicture {
 public:
  explicit NetworkPicture(const SimNetwork& network) {
    const bool sites = network.sites.size() > 1 || (network.sites.size() == 1 && network.sites[0].has_uplink);
    std::size_t most = 1;
    for (const SimSite& site : network.sites) most = std::max(most, site.links.size());
    // radius of the nodes around a site
    const double ring = std::max(60.0, 26.0 * static_cast<double>(most) / kTau);
    const double away =
        sites ? std::max(1.6 * ring + 60, 2.4 * ring * static_cast<double>(network.sites.size()) / kTau) : 0;
    const double half = away + ring + 40;
    picture_.width = picture_.height = 2 * half;
    const Point middle{half, half};
    int node = 0;
    for (std::size_t i = 0; i < network.sites.size(); ++i) {
      const SimSite& site = network.sites[i];
      const Point hub = sites && site.has_uplink ? around(middle, away, i, network.sites.size()) : middle;
      for (std::size_t k = 0; k < site.links.size(); ++k, ++node) {
        const Point place = around(hub, ring, k, site.links.size());
        line(hub, place, 1.2, "#7a8ca3");
        disc(place, 9, "#2f6db5");
        text(place, std::to_string(node), 8, "#ffffff");
      }
      if (site.has_uplink) {
        line(middle, hub, 3, "#c2571a");
        text({(middle.x + hub.x) / 2, (middle.y + hub.y) / 2 - 5}, words(site.uplink), 9, "#8a3a0c");
      }
      disc(hub, 6, "#44546a");
      text({hub.x, hub.y + 17}, words(site.links.front()), 8, "#44546a");
    }
    if (sites) disc(middle, 8, "#c2571a");
  }

  NetworkPicture(const SimNetwork& network, int nodes) {
    const double ring = std::max(80.0, 26.0 * nodes / kTau);
    picture_.width = picture_.height = 2 * (ring + 40);
    const Point middle{ring + 40, ring + 40};
    for (int i = 0; i < nodes; ++i)
      for (int j = i + 1; j < nodes; ++j)
        line(place(middle, ring, i, nodes), place(middle, ring, j, nodes), 0.6, "#7a8ca3");
    for (int i = 0; i < nodes; ++i) {
      disc(place(middle, ring, i, nodes), 9, "#2f6db5");
      text(place(middle, ring, i, nodes), std::to_string(i), 8, "#ffffff");
    }
    text({middle.x, 2 * ring + 66}, "every two: " + words(network.pair), 9, "#44546a");
  }

  const Picture& picture() const { return picture_; }

 private:
  static Point around(Point middle, double radius, std::size_t k, std::size_t count) {
    const double angle = kTau * (static_cast<double>(k) / static_cast<double>(count) - 0.25);
    return {middle.x + radius * std::cos(angle), middle.y + radius * std::sin(angle)};
  }
  static Point place(Point middle, double radius, int k, int count) {
    return around(middle, radius, static_cast<std::size_t>(k), static_cast<std::size_t>(count));
  }
  void line(Point from, Point to, double width, const char* color) {
    picture_.curves.push_back({from, {(from.x + to.x) / 2, (from.y + to.y) / 2}, to, width, color});
  }
  void disc(Point center, double radius, const char* fill) {
    picture_.discs.push_back({center, radius, fill, "#ffffff", 1});
  }
  void text(Point at, std::string words, double size, const char* color) {
    picture_.texts.push_back({{at.x, at.y + size / 3}, std::move(words), size, color});
  }

  Picture picture_;
};

}  // namespace

void show_network(const NetworkQuestion& question) {
  Config config = Config::from_file(question.config);
  config.set("cluster.transport=simulated");
  const Settings settings = config.resolve();
  const SimNetwork network = read_network(settings.network, settings.nodes(), settings.seed());
  if (!network.platform.empty())
    throw RequestError(
        fmt::format("{}: network.platform is a file of SimGrid's, which simgrid-graphicator draws; --network "
                    "draws what the other "
                    "keys describe",
                    question.config));
  if (!question.svg.empty() || !question.png.empty()) {
    if (static_cast<std::size_t>(settings.nodes()) > kMostDrawn)
      throw RequestError(
          fmt::format("a picture of {} nodes tells nothing: {} are the most", settings.nodes(), kMostDrawn));
    const NetworkPicture drawn = network.shape == SimNetwork::Shape::full
                                     ? NetworkPicture(network, settings.nodes())
                                     : NetworkPicture(network);
    if (!question.png.empty()) write_png(drawn.picture(), question.png);
    if (!question.svg.empty())
      if (std::ofstream out(question.svg, std::ios::binary); !(out << to_svg(drawn.picture()) << std::flush))
        throw RequestError("the picture '" + question.svg + "' cannot be written");
  }
  if (question.json)
    answer_json(to_json(network, settings.nodes()));
  else
    answer("{}", to_text(network, settings.nodes()));
}

}  // namespace veche::cli
