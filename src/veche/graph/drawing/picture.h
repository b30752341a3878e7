#pragma once

#include <string>
#include <vector>

#include "veche/graph/drawing/node_positions.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

// A drawing: a list of shapes, in points, painted in order.
struct Picture {
  struct Curve {  // a quadratic curve; straight if the control point lies between the ends
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
    Point at;  // centre of the line of text, or its start
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

// Draws a graph with its weights. Heavier edges are wider; negative weights are dashed and in
// another colour. Nodes are numbered, with labels (none, or one per node) below them. A legend and
// `title` are at the bottom. Throws RequestError above 2,000 nodes, where a picture shows nothing
// useful.
Picture draw(const Graph& graph, const Mixing& mixing, const Layout& layout, const std::string& title,
             std::span<const std::string> labels = {});

std::string to_svg(const Picture& picture);

// Writes at twice the size, for high-resolution screens. Throws RequestError, saying what to
// install, if the module veche_cairo is missing.
void write_png(const Picture& picture, const std::string& path);

}  // namespace veche
