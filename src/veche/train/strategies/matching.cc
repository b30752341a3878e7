#include "veche/train/strategies/matching.h"

namespace veche {

std::vector<Edge> draw_matching(RandomStream& random, std::span<const Edge> edges, std::int64_t most,
                                std::size_t nodes) {
  std::vector<Edge> shuffled(edges.begin(), edges.end()), drawn;
  random.shuffle(std::span(shuffled));
  std::vector<bool> taken(nodes);
  for (const Edge& edge : shuffled) {
    const auto a = static_cast<std::size_t>(edge.from), b = static_cast<std::size_t>(edge.to);
    if (static_cast<std::int64_t>(drawn.size()) == most || taken[a] || taken[b]) continue;
    taken[a] = taken[b] = true;
    drawn.push_back(edge);
  }
  return drawn;
}

}  // namespace veche
