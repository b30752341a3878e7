#pragma once

#include <string>
#include <vector>

namespace veche::web {

struct Curve {
  std::string name;
  std::vector<double> x, y;  // as many; x rises or stays
};

struct Chart {
  std::string title;
  std::string x_name, y_name;
  std::vector<Curve> curves;
  bool logarithmic = false;  // upwards; what is not above 0 is left out
};

// Lines with axes and a legend, as SVG that stands alone: no script, no font of its own, colours that people
// who see few of them can tell apart, and dashes besides. In a page, colours of lines and words are those
// around. Long curves lose points, never their peaks: of each column of pixels the lowest and highest stay.
// Empty where there is nothing to draw.
std::string to_svg(const Chart& chart);

// Ticks at round numbers, at most about `count`, inside [low, high].
std::vector<double> round_ticks(double low, double high, int count);
// The points that are drawn: at most four for each of so many columns.
Curve decimated(const Curve& curve, std::size_t columns);

}  // namespace veche::web
