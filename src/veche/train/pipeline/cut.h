#pragma once

#include <span>
#include <vector>

namespace veche {

// Where a chain of blocks is cut into stages: the first block of every stage except the first,
// ascending.
using Cut = std::vector<int>;

// A stage's blocks [from, to).
struct BlockRange {
  int from = 0;
  int to = 0;
};
BlockRange blocks_of_stage(const Cut& cut, int blocks, int stage);

// The best cut into as many stages as there are speeds: its slowest stage is as fast as possible.
// A stage takes the sum of the costs of its blocks divided by its speed. Among equals, the cut with
// the most even stages wins. There must be at least as many blocks as stages; every stage gets one.
Cut best_cut(std::span<const double> costs, std::span<const double> speeds);

// The time of each stage of a cut, by the same measure.
std::vector<double> stage_costs(const Cut& cut, std::span<const double> costs,
                                std::span<const double> speeds);

}  // namespace veche
