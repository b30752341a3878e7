#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace veche::web {

struct Curve {
  std::string name;
  std::vector<double> x, y;                            // equally long; x does not decrease
  std::vector<double> low = {}, high = {};             // as long, or empty: the band around the curve
  std::size_t color = 0;                               // curves of one run have the same in every chart
  std::optional<std::pair<double, double>> ring = {};  // where the goal is reached
};

struct Chart {
  std::string title;
  std::string x_name, y_name;
  std::vector<Curve> curves;
  bool logarithmic = false;         // y axis; values not above 0 are dropped
  bool x_logarithmic = false;       // the same of x
  std::optional<double> goal = {};  // a line across
};

// Where a chart is seen: alone on white paper, or on a page that has the title, the legend and the
// colours, in the light or the dark.
enum class Medium { paper, page };

// A line chart with axes as SVG: no script, no fonts, colours that colour-blind people can
// distinguish, and dashes. On paper with title and legend. Long curves are decimated but keep their
// peaks: the lowest and highest point per pixel column stay. Empty if there is nothing to draw.
std::string to_svg(const Chart& chart, Medium medium = Medium::paper);
// The line of a colour, as a legend or a table shows it on a page.
std::string line_sample(std::size_t color);

// Ticks at round numbers inside [low, high], at most about `count`.
std::vector<double> round_ticks(double low, double high, int count);
// Ticks at 1, 2 and 5 times powers of ten, or at powers alone; both ends are above 0.
std::vector<double> logarithmic_ticks(double low, double high, int count);
// Their texts, with the decimals that their distances need: 0.5, 1.0; 61,600.
std::vector<std::string> tick_labels(const std::vector<double>& ticks, bool logarithmic);
// The points to draw: at most four per pixel column.
Curve decimated(const Curve& curve, std::size_t columns);

}  // namespace veche::web
