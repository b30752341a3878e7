#include "veche/train/pipeline/cut.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace veche {

BlockRange blocks_of_stage(const Cut& cut, int blocks, int stage) {
  const auto s = static_cast<std::size_t>(stage);
  return {s == 0 ? 0 : cut[s - 1], s == cut.size() ? blocks : cut[s]};
}

std::vector<double> stage_costs(const Cut& cut, std::span<const double> costs,
                                std::span<const double> speeds) {
  std::vector<double> all;
  for (std::size_t s = 0; s < speeds.size(); ++s) {
    const BlockRange range = blocks_of_stage(cut, static_cast<int>(costs.size()), static_cast<int>(s));
    all.push_back(std::accumulate(costs.begin() + range.from, costs.begin() + range.to, 0.0) / speeds[s]);
  }
  return all;
}

// best[s][j]: of the first j blocks on the first s stages. A cut is worse by its slowest stage, and
// among equals by the sum of squares.
Cut best_cut(std::span<const double> costs, std::span<const double> speeds) {
  struct Value {
    double slowest = std::numeric_limits<double>::infinity();
    double squares = 0;
    std::size_t before = 0;  // blocks on the stages before the last of these
    bool operator<(const Value& other) const {
      return slowest != other.slowest ? slowest < other.slowest : squares < other.squares;
    }
  };
  const std::size_t blocks = costs.size(), stages = speeds.size();
  std::vector<double> sums(blocks + 1);
  for (std::size_t i = 0; i < blocks; ++i) sums[i + 1] = sums[i] + costs[i];
  std::vector best(stages + 1, std::vector<Value>(blocks + 1));
  best[0][0].slowest = 0;
  for (std::size_t s = 1; s <= stages; ++s)
    for (std::size_t j = s; j <= blocks; ++j)
      for (std::size_t i = s - 1; i < j; ++i) {
        const double cost = (sums[j] - sums[i]) / speeds[s - 1];
        const Value& rest = best[s - 1][i];
        best[s][j] = std::min(best[s][j], Value{std::max(rest.slowest, cost), rest.squares + cost * cost, i});
      }
  Cut cut;
  std::size_t end = blocks;
  for (std::size_t s = stages; s > 1; --s) {
    end = best[s][end].before;
    cut.push_back(static_cast<int>(end));
  }
  std::ranges::reverse(cut);
  return cut;
}

}  // namespace veche
