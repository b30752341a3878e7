#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "veche/graph/io/graph_file.h"

namespace veche {
namespace {

using Link = StoredGraph::Link;

// A key that is equal for parallel edges. Weights have a direction even in undirected graphs.
Edge place_of(const Link& link, bool directed) {
  const bool turned = !directed && !link.weight && link.from > link.to;
  return turned ? Edge{link.to, link.from} : Edge{link.from, link.to};
}

bool has_parallel(const std::vector<Link>& links, bool directed) {
  std::vector<Edge> places;
  places.reserve(links.size());
  for (const Link& link : links) places.push_back(place_of(link, directed));
  std::ranges::sort(places);
  return std::ranges::adjacent_find(places) != places.end();
}

std::string counted(std::size_t count, const char* what, const char* done) {
  return fmt::format("{} {}{} {} {}", count, what, count == 1 ? "" : "s", count == 1 ? "was" : "were", done);
}

}  // namespace

void tidy(StoredGraph& stored) {
  stored.loops =
      std::erase_if(stored.edges, [](const Link& link) { return link.from == link.to && !link.weight; });
  if (!has_parallel(stored.edges, stored.directed)) return;  // no map needed
  std::map<Edge, std::optional<double>> first;
  std::erase_if(stored.edges, [&](const Link& link) {
    const auto [found, added] = first.try_emplace(place_of(link, stored.directed), link.weight);
    if (added) return false;
    ++stored.merged;
    return found->second == link.weight;
  });
}

std::string notice_of(const std::string& path, const std::vector<StoredGraph>& stored) {
  std::size_t merged = 0, loops = 0;
  for (const StoredGraph& graph : stored) {
    merged += graph.merged;
    loops += graph.loops;
  }
  if (merged + loops == 0) return "";
  std::string said;
  if (merged > 0) said = counted(merged, "parallel edge", "merged");
  if (loops > 0) said += (said.empty() ? "" : " and ") + counted(loops, "self-loop", "dropped");
  return fmt::format("the graph file '{}': {}", path, said);
}

}  // namespace veche
