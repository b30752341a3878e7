#include "bench/topology/limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/rounds.h"
#include "bench/topology/command.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

// Random points in a square: their minimum spanning tree, then the shortest other edges. Written as
// an edge list.
class GeometricFile {
 public:
  GeometricFile(int nodes, std::size_t edges)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("veche_bench_{}_{}.edges", getpid(), nodes)) {
    RandomStream random(1, "geometric graph", static_cast<std::uint64_t>(nodes));
    std::vector<std::pair<double, double>> points(static_cast<std::size_t>(nodes));
    for (auto& [x, y] : points) x = random.uniform(), y = random.uniform();
    struct Pair {
      double length;
      int a, b;
    };
    std::vector<Pair> pairs;
    for (int a = 0; a < nodes; ++a) {
      for (int b = a + 1; b < nodes; ++b) {
        const auto &p = points[static_cast<std::size_t>(a)], &q = points[static_cast<std::size_t>(b)];
        pairs.push_back({std::hypot(p.first - q.first, p.second - q.second), a, b});
      }
    }
    std::ranges::sort(pairs, {}, &Pair::length);
    std::vector<int> group(points.size());
    std::iota(group.begin(), group.end(), 0);
    std::vector<Pair> tree, others;
    for (const Pair& pair : pairs) {
      const int from = group[static_cast<std::size_t>(pair.a)], to = group[static_cast<std::size_t>(pair.b)];
      (from != to ? tree : others).push_back(pair);
      if (from != to) std::ranges::replace(group, from, to);
    }
    tree.insert(tree.end(), others.begin(), others.end());
    std::ofstream file(path_);
    for (std::size_t k = 0; k < edges; ++k) file << tree[k].a << ' ' << tree[k].b << '\n';
  }
  ~GeometricFile() { std::filesystem::remove(path_); }
  GeometricFile(const GeometricFile&) = delete;
  GeometricFile& operator=(const GeometricFile&) = delete;
  std::string spec() const { return "file:" + path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Promise {
  std::string name, spec, rule;
  double seconds;
  double rho;  // the expected value; 0: only the certificate is checked
};

double measured(const Promise& promise) {
  const CommandResult result = run_self({"topology", promise.spec, "--weights", promise.rule, "--json"});
  const auto answer = nlohmann::json::parse(result.output);
  const double rho = answer.at("rho");
  const bool right = promise.rho > 0 ? std::abs(rho - promise.rho) < 2e-3 : rho < 1;
  const bool proved = promise.rule != "optimal" || answer.at("gap").get<double>() < 1e-5;
  if (!right || !proved)
    throw RunError(fmt::format("`veche topology {}` gave a wrong rho of {}", promise.spec, rho));
  return result.seconds;
}

}  // namespace

std::vector<BenchCase> bench_topology(const BenchOptions& options) {
  const GeometricFile fifty(50, 200), hundred(100, 400), many(400, 1600);
  std::vector<Promise> promises{
      {"start", "ring:8", "metropolis", 0.1, 0.804738},
      {"optimal, torus 6x6", "torus:6x6", "optimal", 0.5, 7.0 / 9},
      {"optimal, 50 nodes 200 edges", fifty.spec(), "optimal", 2, 0},
      {"optimal, 100 nodes 400 edges", hundred.spec(), "optimal", 5, 0},
      {"optimal, 400 nodes 1600 edges", many.spec(), "optimal", 120, 0},
      // Random regular graphs of degree 4 have a second Laplacian eigenvalue near 4 - 2 sqrt(3).
      {"rho of 100,000 nodes", "regular:100000:4", "metropolis", 20, 1 - (4 - 2 * std::sqrt(3.0)) / 5},
  };
  std::vector<BenchCase> cases;
  for (const Promise& promise : promises) {
    if (options.quick && promise.seconds > 5) continue;
    const int repeats = options.quick || promise.seconds > 5 ? 1 : std::min(options.rounds, 5);
    Rounds rounds(1);
    for (int k = 0; k < repeats; ++k) {
      rounds.ours(1 / measured(promise));
      rounds.theirs(0, 1 / promise.seconds);
    }
    BenchCase result = rounds.result(0, promise.name, "s", "limit", 1.0);
    result.value = 1 / result.value;  // limits are stated in seconds
    result.peer_value = promise.seconds;
    cases.push_back(std::move(result));
  }
  return cases;
}

}  // namespace veche
