#include "veche/graph/drawing/topology_picture.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "veche/graph/families/spec.h"

namespace veche {

std::uint64_t sampled_rounds(const Topology& topology) {
  return topology.period() == 0 ? 64 : topology.period();
}

Mixing mean_mixing(const Topology& topology) {
  const std::uint64_t rounds = sampled_rounds(topology);
  std::vector<std::map<int, double>> sums(static_cast<std::size_t>(topology.nodes()));
  for (std::uint64_t k = 0; k < rounds; ++k) {
    const auto mixing = topology.at(k);
    for (int i = 0; i < topology.nodes(); ++i) {
      for (const Weight& weight : mixing->row(i)) {
        sums[static_cast<std::size_t>(i)][weight.node] += weight.value / static_cast<double>(rounds);
      }
    }
  }
  std::vector<std::vector<Weight>> rows;
  for (const auto& sum : sums) {
    rows.emplace_back();
    for (const auto& [node, value] : sum) rows.back().push_back({node, value});
  }
  return Mixing(std::move(rows));
}

Picture picture_of(const Topology& topology, const TopologyRequest& request) {
  std::string family;
  std::vector<int> shape;
  std::string_view spec = request.graph;
  if (spec.starts_with("matchings:")) spec.remove_prefix(10);
  if (spec.starts_with("one-peer-exponential")) {
    family = "one-peer-exponential";
  } else if (!spec.starts_with("schedule:") && !spec.starts_with("file:")) {
    const SpecGraph known = read_spec(spec, {request.nodes, request.seed, request.directed_allowed});
    family = known.family;
    shape = known.shape;
  }
  const Layout layout = layout_of(topology.graph(), family, shape);
  // For a file the name is enough.
  const std::string about =
      spec.starts_with("file:")
          ? std::filesystem::path(spec.substr(5)).filename().string() + ", " + request.weights
          : topology.describe();
  const std::string title = fmt::format("{}: rho {:.4f}", about, topology.contraction().rate);
  return draw(topology.graph(), mean_mixing(topology), layout, title, notes_of(topology).labels);
}

std::string topology_svg(const Topology& topology, const TopologyRequest& request) {
  return to_svg(picture_of(topology, request));
}

}  // namespace veche
