#include "veche/graph/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "veche/base/errors.h"
#include "veche/graph/spec.h"

namespace veche {
namespace {

class StaticTopology final : public Topology {
 public:
  StaticTopology(SpecGraph spec, std::string rule)
      : spec_(std::move(spec)),
        rule_(std::move(rule)),
        mixing_(std::make_shared<const Mixing>(make_mixing(spec_.graph, rule_))) {}

  int nodes() const override { return spec_.graph.nodes(); }
  std::shared_ptr<const Mixing> at(std::uint64_t) const override { return mixing_; }
  const Graph& graph() const override { return spec_.graph; }
  std::uint64_t period() const override { return 1; }
  std::string describe() const override { return spec_.name + ", " + rule_; }

 private:
  const SpecGraph spec_;
  const std::string rule_;
  const std::shared_ptr<const Mixing> mixing_;
};

std::string list(const std::vector<int>& component) {
  if (component.size() <= 8) return fmt::format("{{{}}}", fmt::join(component, ", "));
  return fmt::format("{{{}, {}, {}, ... {}}} ({} nodes)", component[0], component[1], component[2],
                     component.back(), component.size());
}

void refuse_disconnected(const SpecGraph& spec) {
  const auto components = spec.graph.components();
  if (components.size() == 1) return;
  std::vector<std::string> shown;
  for (const auto& component : components) {
    if (shown.size() == 6) {
      shown.push_back(fmt::format("{} more", components.size() - 6));
      break;
    }
    shown.push_back(list(component));
  }
  throw RequestError(fmt::format("the graph '{}' is not connected: {} cannot reach each other", spec.name,
                                 fmt::join(shown, " and ")));
}

}  // namespace

std::shared_ptr<const Topology> make_topology(const TopologyRequest& request) {
  SpecGraph spec = read_spec(request.graph, {request.nodes, request.seed, request.directed_allowed});
  refuse_disconnected(spec);
  auto topology = std::make_shared<const StaticTopology>(std::move(spec), request.weights);
  if (spectral_radius(*topology->at(0)) > 1 - 1e-12) {
    throw RequestError(fmt::format(
        "the weights '{}' never converge on '{}' (rho = 1: the nodes swap values for ever): use metropolis",
        request.weights, request.graph));
  }
  return topology;
}

}  // namespace veche
