#include "veche/graph/weights/mixing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/graph/spectra/spectrum.h"

namespace veche {

Mixing::Mixing(std::vector<std::vector<Weight>> rows) : rows_(std::move(rows)), readers_(rows_.size()) {
  const int count = nodes();
  for (int i = 0; i < count; ++i) {
    std::vector<Weight>& row = rows_[static_cast<std::size_t>(i)];
    if (std::none_of(row.begin(), row.end(), [i](const Weight& weight) { return weight.node == i; })) {
      row.push_back({i, 0.0});
    }
    std::sort(row.begin(), row.end(), [](const Weight& a, const Weight& b) { return a.node < b.node; });
    double sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Weight& weight = row[k];
      if (weight.node < 0 || weight.node >= count) {
        throw RequestError(fmt::format("row {} of the weights names node {}, but the nodes are 0 to {}", i,
                                       weight.node, count - 1));
      }
      if (k > 0 && row[k - 1].node == weight.node) {
        throw RequestError(fmt::format("row {} of the weights names node {} twice", i, weight.node));
      }
      if (!std::isfinite(weight.value)) {
        throw RequestError(fmt::format("weight {}-{} is not a number", i, weight.node));
      }
      sum += weight.value;
      if (weight.node != i) readers_[static_cast<std::size_t>(weight.node)].push_back(i);
    }
    if (std::abs(sum - 1) > 1e-9) {
      throw RequestError(fmt::format("row {} of the weights sums to {:.10g}, not to 1", i, sum));
    }
  }
}

Mixing mixing_from_edges(const Graph& graph, std::span<const double> weights) {
  std::vector<std::vector<Weight>> rows(static_cast<std::size_t>(graph.nodes()));
  std::vector<double> own(rows.size(), 1.0);
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const auto [from, to] = graph.edges()[e];
    const auto i = static_cast<std::size_t>(from), j = static_cast<std::size_t>(to);
    rows[j].push_back({from, weights[e]});
    own[j] -= weights[e];
    if (graph.kind() == Graph::Kind::directed) continue;
    rows[i].push_back({to, weights[e]});
    own[i] -= weights[e];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back({static_cast<int>(i), own[i]});
  return Mixing(std::move(rows));
}

double spectral_radius(const Mixing& mixing) { return radius_besides_ones(sparse_matrix(mixing)); }

}  // namespace veche
