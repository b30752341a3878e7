#include "veche/graph/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/graph/families.h"

namespace veche {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The words of a spec with what it is read with; each question names the spec when the answer is missing or
// wrong.
class Words {
 public:
  Words(std::string_view spec, const SpecContext& context)
      : spec_(spec), context_(context), seed_(context.seed) {
    std::string_view rest = spec;
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
      seed_ = number<std::uint64_t>(rest.substr(at + 1), "a seed");
      seeded_ = true;
      rest = rest.substr(0, at);
    }
    words_ = split(rest, ':');
  }

  const std::string& family() const { return words_[0]; }
  std::size_t count() const { return words_.size() - 1; }
  std::uint64_t seed() const { return seed_; }
  bool seeded() const { return seeded_; }
  const SpecContext& context() const { return context_; }

  // The only number of the spec, or the cluster's.
  int nodes() const {
    at_most(1);
    return count() == 1 ? whole(1, "a number of nodes") : cluster_nodes();
  }
  // In specs like chords:N:K, where N may be left out.
  int nodes_before_last() const {
    at_most(2);
    return count() == 2 ? whole(1, "a number of nodes") : cluster_nodes();
  }
  int last(const char* what) const {
    at_least(1, what);
    return whole(count(), what);
  }
  double last_fraction(const char* what) const {
    at_least(1, what);
    return number<double>(words_.back(), what);
  }
  // AxB; when left out, the factors of the cluster's size that lie nearest to a square, none below `least`.
  std::vector<int> sides(int least) const {
    at_most(1);
    if (count() == 1) {
      std::vector<int> sides;
      for (const std::string& side : split(words_[1], 'x')) sides.push_back(number<int>(side, "a side"));
      if (sides.size() < 2) wrong("needs its sides, as in " + family() + ":4x6");
      return sides;
    }
    const int nodes = cluster_nodes();
    int side = static_cast<int>(std::sqrt(nodes));
    while (side > 1 && nodes % side != 0) --side;
    if (side < least) {
      throw RequestError(
          fmt::format("{} nodes do not fill a {} with sides of at least {}: choose a number of nodes "
                      "such as {} or another graph, such as expander",
                      nodes, family(), least, (nodes / least + 1) * least));
    }
    return {side, nodes / side};
  }
  int cluster_nodes() const {
    if (!context_.nodes) wrong("needs its number of nodes");
    return *context_.nodes;
  }
  void at_most(std::size_t numbers) const {
    if (count() > numbers) wrong(fmt::format("has more than {} number{}", numbers, numbers == 1 ? "" : "s"));
  }
  int whole(std::size_t index, const char* what) const { return number<int>(words_[index], what); }
  [[noreturn]] void wrong(const std::string& why) const {
    throw RequestError(fmt::format("the graph '{}' {}", spec_, why));
  }

 private:
  void at_least(std::size_t numbers, const char* what) const {
    if (count() < numbers) wrong(fmt::format("needs {}", what));
  }
  template <class T>
  T number(std::string_view word, const char* what) const {
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) {
      wrong(fmt::format("has '{}' where {} should be", word, what));
    }
    return value;
  }

  std::string_view spec_;
  const SpecContext& context_;
  std::vector<std::string> words_;
  std::uint64_t seed_;
  bool seeded_ = false;
};

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

const std::map<std::string, Maker, std::less<>>& makers() {
  static const std::map<std::string, Maker, std::less<>> all{
      {"ring", by_nodes(ring_graph)},      {"path", by_nodes(path_graph)},
      {"star", by_nodes(star_graph)},      {"complete", by_nodes(complete_graph)},
      {"torus", by_sides(torus_graph, 3)}, {"grid", by_sides(grid_graph, 2)},
  };
  return all;
}

}  // namespace

std::span<const std::string> spec_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, maker] : makers()) all.push_back(name);
    return all;
  }();
  return names;
}

SpecGraph read_spec(std::string_view spec, const SpecContext& context) {
  const Words words(spec, context);
  const auto maker = makers().find(words.family());
  if (maker == makers().end()) {
    throw RequestError(
        fmt::format("there is no graph '{}'{}", words.family(), suggestion(words.family(), spec_families())));
  }
  Made made = maker->second(words);
  const bool box = words.family() == "torus" || words.family() == "grid";
  std::string name = fmt::format("{}:{}", words.family(), fmt::join(made.shape, box ? "x" : ":"));
  if (words.seeded()) name += fmt::format("@{}", words.seed());
  if (context.nodes && made.graph.nodes() != *context.nodes) {
    throw RequestError(
        fmt::format("the graph '{}' has {} nodes, but the cluster has {}: leave the number out or set "
                    "cluster.nodes = {}",
                    spec, made.graph.nodes(), *context.nodes, made.graph.nodes()));
  }
  return {std::move(name), words.family(), std::move(made.shape), std::move(made.graph)};
}

}  // namespace veche
