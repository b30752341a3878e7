#pragma once

#include <span>
#include <vector>

namespace veche {

// Where a chain of blocks is cut into stages: the first block of every stage but the first, ascending.
using Cut = std::vector<int>;

// The first block of a stage, and the one behind its last.
struct BlockRange {
  int from = 0;
  int to = 0;
};
BlockRange blocks_of_stage(const Cut& cut, int blocks, int stage);

// The cut into as many stages as there are speeds whose slowest stage is quickest, where a stage takes the
// sum of the costs of its blocks over its speed. Of several the one whose stages are most alike. There are at
// least as many blocks as stages, and every stage has one.
Cut best_cut(std::span<const double> costs, std::span<const double> speeds);

// How long the stages of a cut take, by the same measure.
std::vector<double> stage_costs(const Cut& cut, std::span<const double> costs,
                                std::span<const double> speeds);

}  // namespace veche
