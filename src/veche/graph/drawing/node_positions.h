#pragma once

#include <span>
#include <string>
#include <vector>

#include "veche/graph.h"

namespace veche {

struct Point {
  double x = 0;
  double y = 0;  // downwards
};

// Positions of a drawing: about one unit between neighbours. `bends` has, for every edge, the
// distance of its midpoint from the straight line (to the left of from -> to), so that wrap-around
// edges of a torus do not cross other nodes.
struct Layout {
  std::vector<Point> places;
  std::vector<double> bends;
};

// Conventional drawings for rings, tori, grids, stars, trees and small hypercubes; `family` and
// `shape` come from the spec. All other graphs use stress_layout. Deterministic.
Layout layout_of(const Graph& graph, const std::string& family, std::span<const int> shape);

// Stress layout: distances on paper approximate distances in the graph. For up to about 2,000
// nodes.
std::vector<Point> stress_layout(const Graph& graph);

}  // namespace veche
