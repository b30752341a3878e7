#include "veche/graph/topology_kinds.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "veche/graph/spectra/spectrum.h"
#include "veche/random.h"

namespace veche {
namespace {

class StaticTopology final : public Topology {
 public:
  StaticTopology(Graph graph, Weighing weighing, std::string name)
      : graph_(std::move(graph)),
        mixing_(std::make_shared<const Mixing>(std::move(weighing.mixing))),
        bound_(weighing.bound),
        name_(std::move(name)) {}

  int nodes() const override { return graph_.nodes(); }
  std::shared_ptr<const Mixing> at(std::uint64_t) const override { return mixing_; }
  const Graph& graph() const override { return graph_; }
  std::uint64_t period() const override { return 1; }
  Contraction contraction() const override { return {spectral_radius(*mixing_), std::nullopt, false}; }
  std::optional<double> bound() const override { return bound_; }
  std::string describe() const override { return name_; }

 private:
  const Graph graph_;
  const std::shared_ptr<const Mixing> mixing_;
  const std::optional<double> bound_;
  const std::string name_;
};

Graph union_of(const std::vector<Graph>& graphs) {
  std::vector<Edge> edges;
  const bool directed =
      std::ranges::any_of(graphs, [](const Graph& g) { return g.kind() == Graph::Kind::directed; });
  for (const Graph& graph : graphs) {
    for (const Edge& edge : graph.edges()) {
      edges.push_back(edge);
      if (directed && graph.kind() == Graph::Kind::undirected) edges.push_back({edge.to, edge.from});
    }
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return Graph(graphs[0].nodes(), std::move(edges),
               directed ? Graph::Kind::directed : Graph::Kind::undirected);
}

class CyclicTopology final : public Topology {
 public:
  CyclicTopology(const std::vector<Graph>& graphs, std::vector<Mixing> rounds, std::string name)
      : graph_(union_of(graphs)), name_(std::move(name)) {
    for (Mixing& mixing : rounds) rounds_.push_back(std::make_shared<const Mixing>(std::move(mixing)));
  }

  int nodes() const override { return graph_.nodes(); }
  std::shared_ptr<const Mixing> at(std::uint64_t round) const override {
    return rounds_[round % rounds_.size()];
  }
  const Graph& graph() const override { return graph_; }
  std::uint64_t period() const override { return rounds_.size(); }
  std::string describe() const override { return name_; }

  Contraction contraction() const override {
    // The effect of a period on vectors that sum to zero, by sparse products: rounds join few
    // nodes.
    SparseMatrix product = sparse_matrix(*rounds_[0]);
    for (std::size_t k = 1; k < rounds_.size(); ++k)
      product = (sparse_matrix(*rounds_[k]) * product).pruned();
    Contraction result;
    result.residual = norm_besides_ones(product);
    // A period that averages exactly leaves about 1e-16 by rounding; its root would look like a
    // real rate.
    if (*result.residual < 1e-12) result.residual = 0;
    const double radius = *result.residual == 0 ? 0 : radius_besides_ones(product);
    result.rate = std::pow(radius, 1.0 / static_cast<double>(rounds_.size()));
    return result;
  }

 private:
  const Graph graph_;
  std::vector<std::shared_ptr<const Mixing>> rounds_;
  const std::string name_;
};

class MatchingTopology final : public Topology {
 public:
  MatchingTopology(Graph graph, std::uint64_t seed, std::string name)
      : graph_(std::move(graph)), seed_(seed), name_(std::move(name)) {}

  int nodes() const override { return graph_.nodes(); }
  const Graph& graph() const override { return graph_; }
  std::uint64_t period() const override { return 0; }
  std::string describe() const override { return name_; }

  std::shared_ptr<const Mixing> at(std::uint64_t round) const override {
    std::vector<std::vector<Weight>> rows(static_cast<std::size_t>(nodes()));
    for (int i = 0; i < nodes(); ++i) rows[static_cast<std::size_t>(i)] = {{i, 1.0}};
    for (const std::size_t e : draw(round)) {
      const auto [i, j] = graph_.edges()[e];
      rows[static_cast<std::size_t>(i)] = {{i, 0.5}, {j, 0.5}};
      rows[static_cast<std::size_t>(j)] = {{i, 0.5}, {j, 0.5}};
    }
    return std::make_shared<const Mixing>(std::move(rows));
  }

  // The W of a matching is a projection, so E|x-mean|^2 shrinks by the second eigenvalue of E W = I
  // - 1/2 sum p_e L_e. The probability p_e of an edge is counted over sampled rounds.
  Contraction contraction() const override {
    const int rounds = nodes() <= 1000 ? 4000 : 400;
    std::vector<double> chance(graph_.edges().size(), 0.0);
    for (int k = 0; k < rounds; ++k) {
      for (const std::size_t e : draw(static_cast<std::uint64_t>(k))) chance[e] += 0.5 / rounds;
    }
    const Extremes extremes = extremes_besides_ones(sparse_matrix(mixing_from_edges(graph_, chance)));
    return {std::sqrt(std::max(0.0, extremes.high)), std::nullopt, true};
  }

 private:
  std::vector<std::size_t> draw(std::uint64_t round) const {
    RandomStream random(seed_, "matching", round);
    std::vector<std::size_t> order(graph_.edges().size()), chosen;
    for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
    random.shuffle(std::span<std::size_t>(order));
    std::vector<char> taken(static_cast<std::size_t>(nodes()), 0);
    for (const std::size_t e : order) {
      const auto [i, j] = graph_.edges()[e];
      char &first = taken[static_cast<std::size_t>(i)], &second = taken[static_cast<std::size_t>(j)];
      if (first || second) continue;
      first = second = 1;
      chosen.push_back(e);
    }
    return chosen;
  }

  const Graph graph_;
  const std::uint64_t seed_;
  const std::string name_;
};

class LabelledTopology final : public Topology {
 public:
  LabelledTopology(std::shared_ptr<const Topology> inner, FileNotes words)
      : inner_(std::move(inner)), words_(std::move(words)) {}

  int nodes() const override { return inner_->nodes(); }
  std::shared_ptr<const Mixing> at(std::uint64_t round) const override { return inner_->at(round); }
  const Graph& graph() const override { return inner_->graph(); }
  std::uint64_t period() const override { return inner_->period(); }
  Contraction contraction() const override { return inner_->contraction(); }
  std::optional<double> bound() const override { return inner_->bound(); }
  std::string describe() const override { return inner_->describe(); }
  const FileNotes& words() const { return words_; }

 private:
  const std::shared_ptr<const Topology> inner_;
  const FileNotes words_;
};

}  // namespace

std::shared_ptr<const Topology> labelled_topology(std::shared_ptr<const Topology> topology, FileNotes words) {
  if (words.labels.empty() && words.notices.empty()) return topology;
  return std::make_shared<const LabelledTopology>(std::move(topology), std::move(words));
}

const FileNotes& notes_of(const Topology& topology) {
  static const FileNotes none;
  const auto* labelled = dynamic_cast<const LabelledTopology*>(&topology);
  return labelled == nullptr ? none : labelled->words();
}

std::shared_ptr<const Topology> static_topology(Graph graph, Weighing weighing, std::string name) {
  return std::make_shared<const StaticTopology>(std::move(graph), std::move(weighing), std::move(name));
}

std::shared_ptr<const Topology> cyclic_topology(const std::vector<Graph>& graphs, std::vector<Mixing> rounds,
                                                std::string name) {
  return std::make_shared<const CyclicTopology>(graphs, std::move(rounds), std::move(name));
}

std::shared_ptr<const Topology> matching_topology(Graph graph, std::uint64_t seed, std::string name) {
  return std::make_shared<const MatchingTopology>(std::move(graph), seed, std::move(name));
}

double pair_contraction(const Graph& graph) {
  return 1 - extremes_besides_ones(laplacian(graph)).low / (2 * static_cast<double>(graph.edges().size()));
}

}  // namespace veche
