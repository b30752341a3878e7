#include "veche/graph/drawing/node_positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

namespace veche {
namespace {

constexpr double full_turn = 2 * std::numbers::pi;

// Clockwise from the top, one unit apart (more for small counts, so that edges have room).
std::vector<Point> circle(int count) {
  const double radius = std::max(1.6, count / full_turn);
  std::vector<Point> places;
  for (int i = 0; i < count; ++i) {
    const double angle = full_turn * i / count;
    places.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return places;
}

std::vector<Point> star(int count) {
  std::vector<Point> places = circle(count - 1);
  places.insert(places.begin(), Point{});
  return places;
}

// Row by row, every second row backwards.
std::vector<Point> snake(int count) {
  const int width = count <= 12 ? count : static_cast<int>(std::ceil(std::sqrt(2.0 * count)));
  std::vector<Point> places;
  for (int i = 0; i < count; ++i) {
    const int row = i / width, column = i % width;
    places.push_back(
        {static_cast<double>(row % 2 == 0 ? column : width - 1 - column), static_cast<double>(row)});
  }
  return places;
}

std::vector<Point> rows(int count, int width) {
  std::vector<Point> places;
  for (int i = 0; i < count; ++i) {
    const int row = i / width;
    places.push_back({static_cast<double>(i % width), static_cast<double>(row)});
  }
  return places;
}

std::vector<Point> cube(int dimension) {
  // Directions of the axes: an oblique cube; in higher dimensions a projection that treats all axes
  // alike.
  std::vector<Point> axes{{1.6, 0}, {0, -1.6}, {0.75, -0.6}};
  if (dimension > 3) {
    axes.clear();
    for (int d = 0; d < dimension; ++d) {
      const double angle = std::numbers::pi * d / dimension + 0.1;
      const double length =
          1.5 * (dimension % 2 == 0 ? 1 : 1 + 0.1 * d);  // odd dimensions would put two nodes on one spot
      axes.push_back({length * std::cos(angle), -length * std::sin(angle)});
    }
  }
  std::vector<Point> places(std::size_t{1} << dimension);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(dimension); ++d) {
      if ((i >> d & 1) == 0) continue;
      places[i].x += axes[d].x;
      places[i].y += axes[d].y;
    }
  }
  return places;
}

// Leaves side by side, parents above the middle of their children. With many leaves the tree is
// bent round a centre.
std::vector<Point> tree_positions(const Graph& graph) {
  std::vector<Point> places(static_cast<std::size_t>(graph.nodes()));
  double leaves = 0;
  const std::function<double(int, int, int)> place = [&](int node, int parent, int depth) {
    double first = -1, last = 0;
    for (const int child : graph.neighbors(node)) {
      if (child == parent) continue;
      last = place(child, node, depth + 1);
      if (first < 0) first = last;
    }
    const double x = first < 0 ? leaves++ : (first + last) / 2;
    places[static_cast<std::size_t>(node)] = {x, static_cast<double>(depth)};
    return x;
  };
  place(0, -1, 0);
  if (leaves <= 16) {
    for (Point& point : places) point.y *= 1.2;
    return places;
  }
  const double depth = std::ranges::max(places, {}, &Point::y).y;
  const double ring = std::max(1.0, leaves / full_turn / depth);  // distance between two depths
  for (Point& point : places) {
    const double angle = full_turn * point.x / leaves, radius = ring * point.y;
    point = {radius * std::sin(angle), -radius * std::cos(angle)};
  }
  return places;
}

// An edge that passes over other nodes of its row or column is bent outwards.
std::vector<double> bends_of(const Graph& graph, const std::vector<Point>& places, bool wraps) {
  std::vector<double> bends;
  for (const auto [i, j] : graph.edges()) {
    const Point a = places[static_cast<std::size_t>(i)], b = places[static_cast<std::size_t>(j)];
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    bends.push_back(wraps && length > 1.9 ? 0.36 + 0.02 * length : 0.0);
  }
  return bends;
}

}  // namespace

Layout layout_of(const Graph& graph, const std::string& family, std::span<const int> shape) {
  static constexpr std::array round{"ring",    "chords", "circulant", "exponential", "one-peer-exponential",
                                    "complete"};
  const int count = graph.nodes();
  // more dimensions do not fit on paper
  const bool box = (family == "torus" || family == "grid") && shape.size() == 2;
  Layout layout;
  if (std::ranges::find(round, family) != round.end()) {
    layout.places = circle(count);
  } else if (family == "star") {
    layout.places = star(count);
  } else if (family == "path") {
    layout.places = snake(count);
  } else if (box) {
    layout.places = rows(count, shape.back());
  } else if (family == "hypercube" && shape[0] <= 5) {
    layout.places = cube(shape[0]);
  } else if (family == "tree") {
    layout.places = tree_positions(graph);
  } else {
    layout.places = stress_layout(graph);
  }
  layout.bends = bends_of(graph, layout.places, box && family == "torus");
  return layout;
}

}  // namespace veche
