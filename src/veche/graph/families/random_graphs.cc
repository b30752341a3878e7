#include "veche/graph/families/random_graphs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>

#include "veche/errors.h"
#include "veche/graph/families/families.h"
#include "veche/graph/spectra/spectrum.h"
#include "veche/random.h"

namespace veche {
namespace {

// Pairs the ends of all edges at random, then removes loops and duplicates by swapping ends with
// random edges.
class Pairing {
 public:
  Pairing(int nodes, int degree, RandomStream& random) : random_(random) {
    std::vector<int> ends;
    for (int i = 0; i < nodes; ++i) ends.insert(ends.end(), static_cast<std::size_t>(degree), i);
    random_.shuffle(std::span<int>(ends));
    for (std::size_t k = 0; k + 1 < ends.size(); k += 2) {
      Edge edge{ends[k], ends[k + 1]};
      good_.push_back(edge.from != edge.to && used_.insert(key(edge)).second);
      edges_.push_back(edge);
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      while (!good_[e]) exchange(e);
    }
  }
  // Swaps the ends of two edges, unless that creates a loop or a duplicate.
  void exchange(std::size_t e) {
    const std::size_t other = random_.below(edges_.size());
    if (other == e || !good_[other]) return;
    Edge a{edges_[e].from, edges_[other].to}, b{edges_[other].from, edges_[e].to};
    if (random_.below(2) == 0) {
      a = {edges_[e].from, edges_[other].from};
      b = {edges_[e].to, edges_[other].to};
    }
    if (a.from == a.to || b.from == b.to || key(a) == key(b) || used_.contains(key(a)) ||
        used_.contains(key(b))) {
      return;
    }
    if (good_[e]) used_.erase(key(edges_[e]));
    used_.erase(key(edges_[other]));
    used_.insert(key(a));
    used_.insert(key(b));
    edges_[e] = a;
    edges_[other] = b;
    good_[e] = true;
  }
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  static std::uint64_t key(const Edge& edge) {
    const auto low = static_cast<std::uint64_t>(std::min(edge.from, edge.to));
    return low << 32 | static_cast<std::uint64_t>(std::max(edge.from, edge.to));
  }

  RandomStream& random_;
  std::vector<Edge> edges_;
  std::vector<bool> good_;
  std::unordered_set<std::uint64_t> used_;
};

Graph complement(const Graph& graph) {
  std::vector<Edge> edges;
  for (int i = 0; i < graph.nodes(); ++i) {
    std::vector<char> joined(static_cast<std::size_t>(graph.nodes()), 0);
    for (const int j : graph.neighbors(i)) joined[static_cast<std::size_t>(j)] = 1;
    for (int j = i + 1; j < graph.nodes(); ++j) {
      if (!joined[static_cast<std::size_t>(j)]) edges.push_back({i, j});
    }
  }
  return Graph(graph.nodes(), std::move(edges));
}

}  // namespace

Graph regular_graph(int nodes, int degree, std::uint64_t seed) {
  if (nodes < 2) throw RequestError("a graph needs at least 2 nodes, not " + std::to_string(nodes));
  if (degree < 1 || degree >= nodes) {
    throw RequestError("each of " + std::to_string(nodes) + " nodes can have 1 to " +
                       std::to_string(nodes - 1) + " neighbours, not " + std::to_string(degree));
  }
  if (nodes % 2 != 0 && degree % 2 != 0) {
    throw RequestError("no graph of " + std::to_string(nodes) + " nodes has degree " +
                       std::to_string(degree) + " everywhere: one of the two numbers must be even");
  }
  Graph::check_size(nodes, 0.5 * nodes * degree);
  if (degree == nodes - 1) return complete_graph(nodes);
  RandomStream random(seed, "regular graph", static_cast<std::uint64_t>(nodes),
                      static_cast<std::uint64_t>(degree));
  // Dense graphs leave no room for repair: draw the sparse complement instead.
  if (2 * degree >= nodes)
    return complement(Graph(nodes, Pairing(nodes, nodes - 1 - degree, random).edges()));
  Pairing pairing(nodes, degree, random);
  while (degree > 1) {
    Graph graph(nodes, pairing.edges());
    if (graph.components().size() == 1) return graph;
    for (std::size_t e = 0; e < pairing.edges().size(); ++e) pairing.exchange(e);
  }
  return Graph(nodes, pairing.edges());
}

Graph erdos_renyi_graph(int nodes, double probability, std::uint64_t seed) {
  if (!(probability > 0 && probability <= 1)) {
    throw RequestError("the probability of an edge must lie above 0 and at most at 1, not at " +
                       std::to_string(probability));
  }
  Graph::check_size(nodes, 0.5 * nodes * nodes * probability);
  RandomStream random(seed, "erdos-renyi graph", static_cast<std::uint64_t>(std::max(nodes, 0)));
  std::vector<Edge> edges;
  // Jumps from edge to edge over all pairs in order, so that the cost depends on the edges and not
  // on the pairs.
  const double none = std::log1p(-probability);
  for (long long i = 1, j = -1; i < nodes;) {
    const double jump = probability < 1 ? std::floor(std::log1p(-random.uniform()) / none) : 0;
    if (jump > 1e15) break;
    j += 1 + static_cast<long long>(jump);
    while (i < nodes && j >= i) j -= i++;
    if (i < nodes) edges.push_back({static_cast<int>(j), static_cast<int>(i)});
  }
  return Graph(nodes, std::move(edges));
}

std::optional<Graph> with_exchanged_ends(const Graph& graph, std::size_t first, std::size_t second,
                                         bool cross) {
  std::vector<Edge> edges(graph.edges().begin(), graph.edges().end());
  const Edge a = edges[first], b = edges[second];
  const Edge one = cross ? Edge{a.from, b.to} : Edge{a.from, b.from};
  const Edge two = cross ? Edge{b.from, a.to} : Edge{a.to, b.to};
  const auto joined = [&](const Edge& e) {
    return std::ranges::binary_search(graph.neighbors(e.from), e.to);
  };
  if (first == second || one.from == one.to || two.from == two.to || joined(one) || joined(two))
    return std::nullopt;
  edges[first] = one;
  edges[second] = two;
  return Graph(graph.nodes(), std::move(edges));
}

double constant_rho(const Graph& graph) {
  const Extremes extremes = extremes_besides_ones(laplacian(graph));
  return extremes.low < 1e-12 ? 1 : (extremes.high - extremes.low) / (extremes.high + extremes.low);
}

Graph expander_graph(int nodes, std::uint64_t seed) {
  constexpr int degree = 4;
  if (nodes <= degree + 1) return complete_graph(nodes);
  const int draws = nodes <= 100 ? 32 : nodes <= 300 ? 8 : nodes <= 1000 ? 3 : 1;
  RandomStream random(seed, "expander", static_cast<std::uint64_t>(nodes));
  std::optional<Graph> best;
  double best_so_far = 2;
  const auto consider = [&](Graph graph) {
    const double rho = draws == 1 ? 1 : constant_rho(graph);
    if (rho >= best_so_far - 1e-12) return;
    best_so_far = rho;
    best = std::move(graph);
  };
  for (int k = 0; k < draws; ++k) consider(regular_graph(nodes, degree, random.next()));
  const int half = (nodes - 1) / 2;
  for (int k = 0; k < draws && draws > 1; ++k) {  // circulants are better for small graphs
    const int a = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(half)));
    const int b = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(half)));
    if (a == b || std::gcd(std::gcd(a, b), nodes) != 1) continue;
    const int hops[] = {a, b};
    consider(circulant_graph(nodes, hops));
  }
  const int trials = nodes <= 100 ? static_cast<int>(std::min(400.0, 2e8 / std::pow(nodes, 3))) : 0;
  for (int k = 0; k < trials; ++k) {
    const auto edges = static_cast<std::uint64_t>(best->edges().size());
    auto next = with_exchanged_ends(*best, random.below(edges), random.below(edges), random.below(2) == 0);
    if (next) consider(std::move(*next));
  }
  return *best;
}

}  // namespace veche
