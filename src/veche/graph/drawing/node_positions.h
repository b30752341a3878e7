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

// Where to draw a graph: about one unit between neighbours. `bends` has, for every edge, how far its middle
// is pulled away from the straight line (to the left of from -> to), so that edges round a torus do not run
// over other nodes.
struct Layout {
  std::vector<Point> places;
  std::vector<double> bends;
};

// Rings round, tori and grids as grids, stars, trees and small hypercubes as people draw them; `family` and
// `shape` are those of the spec. Anything else by stress: distances on paper near to distances in the graph.
// Deterministic.
Layout layout_of(const Graph& graph, const std::string& family, std::span<const int> shape);

// The general case, for graphs of up to some 2,000 nodes.
std::vector<Point> stress_layout(const Graph& graph);

}  // namespace veche
