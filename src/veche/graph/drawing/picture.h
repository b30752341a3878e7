#pragma once

#include <string>
#include <vector>

#include "veche/graph/drawing/node_positions.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

// A drawing as a list of shapes, in points, that any painter can put on paper in order.
struct Picture {
  struct Curve {  // a quadratic curve; straight when the middle lies between the ends
    Point from, middle, to;
    double width = 1;
    std::string color;
    bool dashed = false;
    bool arrow = false;  // at `to`
  };
  struct Disc {
    Point center;
    double radius = 1;
    std::string fill, outline;
    double outline_width = 0;
  };
  struct Text {
    Point at;  // the middle of the line, or its beginning
    std::string words;
    double size = 10;
    std::string color;
    bool centered = true;
    bool bold = false;
  };
  double width = 0, height = 0;
  std::vector<Curve> curves;
  std::vector<Disc> discs;
  std::vector<Text> texts;
};

// A graph with its weights: the heavier an edge the wider its line, negative weights dashed and in another
// colour, the nodes numbered, their labels (none, or one a node) under them, a legend and `title` below.
// RequestError above 2,000 nodes, of which no picture tells anything.
Picture draw(const Graph& graph, const Mixing& mixing, const Layout& layout, const std::string& title,
             std::span<const std::string> labels = {});

std::string to_svg(const Picture& picture);

// Twice the size, for sharp screens. Needs the module veche_cairo; RequestError says what to install when it
// is missing.
void write_png(const Picture& picture, const std::string& path);

}  // namespace veche
