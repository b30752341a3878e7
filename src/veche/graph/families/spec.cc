#include "veche/graph/families/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <functional>
#include <map>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/graph/families/families.h"
#include "veche/graph/families/random_graphs.h"
#include "veche/graph/families/spec_words.h"
#include "veche/graph/io/graph_file.h"

namespace veche {
namespace {

struct Made {
  Graph graph;
  std::vector<int> shape;
};
using Maker = std::function<Made(const Words&)>;

Maker by_nodes(Graph (*make)(int)) {
  return [make](const Words& words) { return Made{make(words.nodes()), {words.nodes()}}; };
}

Maker by_sides(Graph (*make)(std::span<const int>), int least) {
  return [make, least](const Words& words) {
    const std::vector<int> sides = words.sides(least);
    return Made{make(sides), sides};
  };
}

// chords:N:K, regular:N:D and the like, where N may be omitted.
Maker by_two(const char* what, const std::function<Graph(int, int, std::uint64_t)>& make) {
  return [what, make](const Words& words) {
    const int nodes = words.nodes_before_last(), last = words.last(what);
    return Made{make(nodes, last, words.seed()), {nodes, last}};
  };
}

Made hypercube(const Words& words) {
  words.at_most(1);
  if (words.count() == 1) {
    const int dimension = words.whole(1, "a dimension");
    return {hypercube_graph(dimension), {dimension}};
  }
  const auto nodes = static_cast<unsigned>(words.cluster_nodes());
  if (!std::has_single_bit(nodes)) {
    throw RequestError(
        fmt::format("a hypercube needs 2, 4, 8 ... nodes, not {}: choose {} nodes or another graph, such "
                    "as expander",
                    nodes, std::bit_ceil(nodes)));
  }
  const int dimension = std::countr_zero(nodes);
  return {hypercube_graph(dimension), {dimension}};
}

Made tree(const Words& words) {
  // tree:N alone is a binary tree. If the cluster gives the size, a single number is the fanout.
  if (words.count() < 2 && !(words.count() == 1 && words.context().nodes)) {
    return {tree_graph(words.nodes(), 2), {words.nodes(), 2}};
  }
  const int nodes = words.nodes_before_last(), fanout = words.last("a fanout");
  return {tree_graph(nodes, fanout), {nodes, fanout}};
}

Made erdos_renyi(const Words& words) {
  const int nodes = words.nodes_before_last();
  return {erdos_renyi_graph(nodes, words.last_fraction("a probability"), words.seed()), {nodes}};
}

Made circulant(const Words& words) {
  const int nodes = words.nodes_before_last();
  std::vector<int> shape{nodes}, hops = words.last_list("hops, as in circulant:16:1+4");
  for (const int hop : hops) {
    if (hop < 1 || 2 * hop > nodes)
      words.wrong(fmt::format("has a hop of {}, where 1 to {} is possible", hop, nodes / 2));
  }
  return {circulant_graph(nodes, hops), std::move(shape)};
}

Made expander(const Words& words) { return {expander_graph(words.nodes(), words.seed()), {words.nodes()}}; }

const std::map<std::string, Maker, std::less<>>& makers() {
  static const std::map<std::string, Maker, std::less<>> all{
      {"ring", by_nodes(ring_graph)},
      {"path", by_nodes(path_graph)},
      {"star", by_nodes(star_graph)},
      {"complete", by_nodes(complete_graph)},
      {"torus", by_sides(torus_graph, 3)},
      {"grid", by_sides(grid_graph, 2)},
      {"hypercube", hypercube},
      {"tree", tree},
      {"chords",
       by_two("a number of chords", [](int n, int k, std::uint64_t) { return chords_graph(n, k); })},
      {"regular", by_two("a degree", regular_graph)},
      {"erdos-renyi", erdos_renyi},
      {"expander", expander},
      {"circulant", circulant},
      {"exponential", by_nodes(exponential_graph)},
  };
  return all;
}

SpecGraph from_file(std::string_view spec, const SpecContext& context) {
  const std::string path(spec.substr(spec.find(':') + 1));
  const std::vector<StoredGraph> stored = read_graph_file(path);
  if (stored.size() > 1) {
    throw RequestError(
        fmt::format("the graph file '{}' lists {} graphs, where one is wanted", path, stored.size()));
  }
  return {std::string(spec),
          "file",
          {},
          graph_in_file(path, stored[0], context.directed_allowed),
          stored[0].labels,
          notice_of(path, stored)};
}

SpecGraph from_words(const Words& words) {
  const auto maker = makers().find(words.family());
  if (maker == makers().end()) {
    throw RequestError(
        fmt::format("there is no graph '{}'{}", words.family(), suggestion(words.family(), spec_families())));
  }
  Made made = maker->second(words);
  const bool box = words.family() == "torus" || words.family() == "grid";
  std::string name = fmt::format("{}:{}", words.family(), fmt::join(made.shape, box ? "x" : ":"));
  if (words.family() == "erdos-renyi") name += fmt::format(":{}", words.last_fraction("a probability"));
  if (words.family() == "circulant") name += fmt::format(":{}", fmt::join(words.last_list("hops"), "+"));
  const bool random =
      words.family() == "erdos-renyi" || words.family() == "regular" || words.family() == "expander";
  if (random && (words.seeded() || words.seed() != 1)) name += fmt::format("@{}", words.seed());
  if (words.seeded() && !random) words.wrong("has a seed, but nothing in it is random");
  return {std::move(name), words.family(), std::move(made.shape), std::move(made.graph)};
}

}  // namespace

std::span<const std::string> spec_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, maker] : makers()) all.push_back(name);
    all.insert(all.end(), {"one-peer-exponential", "matchings", "schedule", "file"});
    return all;
  }();
  return names;
}

SpecGraph read_spec(std::string_view spec, const SpecContext& context) {
  SpecGraph result = spec.starts_with("file:") ? from_file(spec, context) : from_words(Words(spec, context));
  check_nodes(spec, result.graph.nodes(), context);
  return result;
}

void check_nodes(std::string_view spec, int nodes, const SpecContext& context) {
  if (!context.nodes || nodes == *context.nodes) return;
  const bool file = spec.starts_with("file:");
  throw RequestError(
      fmt::format("the graph '{}' has {} nodes, but the cluster has {}: {}set cluster.nodes = {}", spec,
                  nodes, *context.nodes, file ? "" : "leave the number out or ", nodes));
}

int spec_nodes(std::string_view spec, const SpecContext& context) { return Words(spec, context).nodes(); }

}  // namespace veche
