#pragma once

#include <string>
#include <vector>

namespace veche::web {

struct Curve {
  std::string name;
  std::vector<double> x, y;  // equally long; x does not decrease
};

struct Chart {
  std::string title;
  std::string x_name, y_name;
  std::vector<Curve> curves;
  bool logarithmic = false;  // y axis; values not above 0 are dropped
};

// A line chart with axes and a legend as standalone SVG: no script, no fonts, colours that
// colour-blind people can distinguish, and dashes. Inside a page, it inherits the colours of lines
// and text. Long curves are decimated but keep their peaks: the lowest and highest point per pixel
// column stay. Empty if there is nothing to draw.
std::string to_svg(const Chart& chart);

// Ticks at round numbers inside [low, high], at most about `count`.
std::vector<double> round_ticks(double low, double high, int count);
// The points to draw: at most four per pixel column.
Curve decimated(const Curve& curve, std::size_t columns);

}  // namespace veche::web
