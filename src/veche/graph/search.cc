#include "veche/graph/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "veche/errors.h"
#include "veche/graph/families/families.h"
#include "veche/graph/families/random_graphs.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/spectra/spectrum.h"
#include "veche/graph/weights/optimal.h"
#include "veche/random.h"

namespace veche {
namespace {

struct Candidate {
  Graph graph;
  std::string spec;
  double rho;  // with the best constant weight: the objective of the search
};

// Rho of a circulant, directly from its hops.
double circulant_rho(int nodes, const std::vector<int>& hops) {
  double low = 1e9, high = 0;
  for (int k = 1; k <= nodes / 2; ++k) {
    double value = 0;
    for (const int hop : hops) {
      const double turn =
          1 - std::cos(2 * M_PI * static_cast<double>(static_cast<long long>(k) * hop % nodes) / nodes);
      value += 2 * hop == nodes ? turn : 2 * turn;
    }
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return low < 1e-12 ? 1 : (high - low) / (high + low);
}

class Search {
 public:
  explicit Search(const SearchRequest& request)
      : request_(request),
        random_(request.seed, "graph search", static_cast<std::uint64_t>(request.nodes),
                static_cast<std::uint64_t>(request.degree)) {}

  FoundGraph run() {
    add_families();
    if (request_.degree < request_.nodes - 1) {
      add_circulants();
      add_regular();
    }
    return with_weights();
  }

 private:
  void add(Graph graph, std::string spec, double rho) {
    found_.push_back({std::move(graph), std::move(spec), rho});
  }

  void add_families() {
    const SpecContext context{request_.nodes, request_.seed, false};
    for (const char* spec : {"ring", "path", "star", "complete", "torus", "grid", "hypercube", "expander"}) {
      try {
        SpecGraph known = read_spec(spec, context);
        int degree = 0;
        for (int i = 0; i < known.graph.nodes(); ++i) degree = std::max(degree, known.graph.degree(i));
        if (degree > request_.degree) continue;
        const double rho = constant_rho(known.graph);
        add(std::move(known.graph), std::move(known.name), rho);
      } catch (const RequestError&) {  // this family has no graph with this number of nodes
      }
    }
  }

  // Each hop gives two neighbours; half the ring gives one. Starts from random hops and improves
  // one hop at a time.
  void add_circulants() {
    const int half = (request_.nodes - 1) / 2;
    const bool odd = request_.degree % 2 != 0 && request_.nodes % 2 == 0;
    const int count = std::min(request_.degree / 2, half);
    if (count == 0) return;
    std::vector<int> best;
    double best_rho = 1;
    const int starts = request_.nodes <= 100 ? 24 : request_.nodes <= 1000 ? 6 : 2;
    const auto rho_of = [&](std::vector<int> hops) {
      if (odd) hops.push_back(request_.nodes / 2);
      return circulant_rho(request_.nodes, hops);
    };
    for (int start = 0; start < starts; ++start) {
      std::set<int> chosen;
      while (static_cast<int>(chosen.size()) < count) chosen.insert(1 + below(half));
      std::vector<int> hops(chosen.begin(), chosen.end());
      double rho = rho_of(hops);
      for (bool better = true; better;) {
        better = false;
        for (int& hop : hops) {
          const int kept = hop;
          int improved = kept;
          for (int trial = 0; trial < std::min(half, 200); ++trial) {
            const int other = half <= 200 ? trial + 1 : 1 + below(half);
            if (std::ranges::find(hops, other) != hops.end()) continue;
            hop = other;
            if (const double now = rho_of(hops); now < rho - 1e-12) {
              rho = now;
              improved = other;
            }
            hop = kept;
          }
          better |= improved != kept;
          hop = improved;
        }
      }
      if (rho < best_rho - 1e-12) {
        best_rho = rho;
        best = hops;
      }
      report(0.3 * (start + 1) / starts, best_rho);
    }
    if (best.empty()) return;
    if (odd) best.push_back(request_.nodes / 2);
    std::ranges::sort(best);
    add(circulant_graph(request_.nodes, best),
        fmt::format("circulant:{}:{}", request_.nodes, fmt::join(best, "+")), best_rho);
  }

  void add_regular() {
    const int nodes = request_.nodes;
    const int degree =
        std::min(request_.degree, nodes - 1) - (nodes % 2 != 0 && request_.degree % 2 != 0 ? 1 : 0);
    if (degree < 3 || nodes > 3000) return;
    // Eigenvalues cost n^3: limit the trials to a few seconds.
    const double allowed = 8e9 / std::pow(static_cast<double>(nodes) + 8, 3);
    const int starts = nodes <= 40 ? 6 : nodes <= 120 ? 3 : 1;
    const int trials = static_cast<int>(std::clamp(allowed / starts, 4.0, 4000.0));
    for (int start = 0; start < starts; ++start) {
      const std::uint64_t seed = random_.below(100000);
      Graph graph = regular_graph(nodes, degree, seed);
      double rho = constant_rho(graph);
      std::string spec = fmt::format("regular:{}:{}@{}", nodes, degree, seed);
      for (int trial = 0; trial < trials; ++trial) {
        const auto edges = static_cast<std::uint64_t>(graph.edges().size());
        auto next =
            with_exchanged_ends(graph, random_.below(edges), random_.below(edges), random_.below(2) == 0);
        if (trial % 64 == 0) report(0.3 + 0.6 * (start + static_cast<double>(trial) / trials) / starts, rho);
        if (!next) continue;
        const double now = constant_rho(*next);
        if (now >= rho - 1e-12) continue;
        graph = std::move(*next);
        rho = now;
        spec.clear();
      }
      add(std::move(graph), std::move(spec), rho);
    }
  }

  FoundGraph with_weights() {
    if (found_.empty()) {
      throw RequestError(fmt::format("no connected graph of {} nodes has at most {} neighbour{} each",
                                     request_.nodes, request_.degree, request_.degree == 1 ? "" : "s"));
    }
    std::ranges::stable_sort(found_, {}, &Candidate::rho);
    if (found_.size() > 4) found_.erase(found_.begin() + 4, found_.end());
    std::optional<FoundGraph> best;
    for (Candidate& candidate : found_) {
      OptimalWeights weights;
      // When the solver would be slow, the constant weight of the search is a good estimate.
      const bool feasible = candidate.graph.edges().size() <= 1200 || candidate.spec.starts_with("circulant");
      if (feasible) {
        weights = optimal_weights(candidate.graph, Sign::free);
      } else {
        const Extremes extremes = extremes_besides_ones(laplacian(candidate.graph));
        weights.weights.assign(candidate.graph.edges().size(), 2 / (extremes.low + extremes.high));
        weights.rho = candidate.rho;
      }
      report(0.95, best ? best->rho : weights.rho);
      // Among equally good graphs, one with a spec is preferred to one that needs a file.
      const double margin = candidate.spec.empty() ? 1e-6 : best && best->spec.empty() ? -1e-9 : 1e-9;
      if (best && weights.rho > best->rho - margin) continue;
      best = FoundGraph{std::move(candidate.graph), std::move(candidate.spec), std::move(weights.weights),
                        weights.rho, weights.bound};
    }
    return std::move(*best);
  }

  int below(int limit) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(limit))); }
  void report(double part, double best) const {
    if (request_.progress) request_.progress(part, best);
  }

  const SearchRequest& request_;
  RandomStream random_;
  std::vector<Candidate> found_;
};

}  // namespace

FoundGraph find_best_graph(const SearchRequest& request) {
  if (request.nodes < 2)
    throw RequestError(fmt::format("a graph needs at least 2 nodes, not {}", request.nodes));
  if (request.degree < 1)
    throw RequestError(fmt::format("each node needs at least 1 neighbour, not {}", request.degree));
  const double edges = 0.5 * request.nodes * std::min(request.degree, request.nodes - 1);
  if (request.nodes > SearchRequest::most_nodes || edges > SearchRequest::most_edges)
    throw RequestError(fmt::format(
        "a search goes through graphs of up to {} nodes and {} edges, not {} and {:.0f}: take "
        "expander:{}, which is good at any size, or a smaller degree",
        SearchRequest::most_nodes, SearchRequest::most_edges, request.nodes, edges, request.nodes));
  return Search(request).run();
}

}  // namespace veche
