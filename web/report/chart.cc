#include "web/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "web/report/table.h"

namespace veche::web {
namespace {

constexpr std::size_t kColumns = 300;
constexpr std::size_t kMostNamed = 12;  // in the legend
constexpr double kLegendLine = 18;

// On paper. Okabe and Ito's, tuned, distinguishable with any colour blindness: those of design.css,
// which a page takes from there.
constexpr std::array kColors{"#0b62b8", "#d55e00", "#009e73", "#b3558c", "#b8860b", "#59636e"};
constexpr std::array kDashes{"", "7 3", "2 3", "9 3 2 3", "5 2", "1 3"};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  void widen() {
    if (low != high) return;
    const double by = low == 0 ? 1 : std::abs(low) * 0.05;
    low -= by;
    high += by;
  }
};

// The drawing and its margins; on a page two drawings stand beside each other.
struct Frame {
  double width, height, left, right, top, bottom;
};
constexpr Frame kPaper{640, 340, 70, 16, 34, 46}, kPage{440, 276, 48, 18, 10, 26};

// A value's place between two ends, from 0 to 1.
class Axis {
 public:
  Axis(Range range, bool logarithmic) : range_(range), logarithmic_(logarithmic) {
    if (logarithmic_) range_ = {std::log10(range.low), std::log10(range.high)};
    range_.widen();
  }
  double at(double value) const {
    return ((logarithmic_ ? std::log10(value) : value) - range_.low) / (range_.high - range_.low);
  }
  std::vector<double> ticks(int count) const {
    return logarithmic_ ? logarithmic_ticks(std::pow(10, range_.low), std::pow(10, range_.high), count)
                        : round_ticks(range_.low, range_.high, count);
  }
  std::vector<std::string> labels(const std::vector<double>& ticks) const {
    return tick_labels(ticks, logarithmic_);
  }

 private:
  Range range_;
  bool logarithmic_;
};

class Drawing {
 public:
  Drawing(const Frame& frame, Medium medium, Axis x, Axis y) : frame_(frame), medium_(medium), x_(x), y_(y) {}

  std::string axes(const Chart& chart) const;
  std::string curve(const Curve& curve) const;
  std::string goal(double value) const;
  std::string legend(const std::vector<Curve>& curves) const;
  std::string text_at(double x, double y, const char* anchor, const std::string& words,
                      const char* more = "") const {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                       html(words));
  }

 private:
  double right() const { return frame_.width - frame_.right; }
  double bottom() const { return frame_.height - frame_.bottom; }
  double x(double value) const { return frame_.left + x_.at(value) * (right() - frame_.left); }
  double y(double value) const { return bottom() - y_.at(value) * (bottom() - frame_.top); }
  std::string color(std::size_t i) const {
    return medium_ == Medium::page ? fmt::format("var(--c{})", i % kColors.size() + 1)
                                   : kColors[i % kColors.size()];
  }
  std::string look(std::size_t i) const;

  const Frame& frame_;
  const Medium medium_;
  const Axis x_, y_;
};

// Runs beyond the sixth repeat a colour, with another dash.
const char* dash_of(std::size_t color) { return kDashes[(color / kColors.size() + color) % kDashes.size()]; }

std::string dashes(std::size_t color) {
  const char* dash = dash_of(color);
  return *dash == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
}

std::string Drawing::look(std::size_t i) const {
  return fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\" stroke-linejoin=\"round\"{}", color(i),
                     dashes(i));
}

std::string Drawing::axes(const Chart& chart) const {
  const bool page = medium_ == Medium::page;
  const std::vector<double> across = x_.ticks(6), up = y_.ticks(5);
  const std::vector<std::string> across_texts = x_.labels(across), up_texts = y_.labels(up);
  const std::string line =
      page ? "stroke=\"var(--grid)\"" : "stroke=\"currentColor\" stroke-opacity=\"0.15\"";
  std::string text = "<g " + line + ">\n";
  for (const double tick : up)
    text += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", frame_.left, y(tick), right());
  text += page ? "</g>\n<g stroke=\"var(--line2)\">\n"
               : "</g>\n<g stroke=\"currentColor\" stroke-opacity=\"0.5\">\n";
  for (const double tick : across) text += fmt::format("<path d=\"M{:.1f} {:.1f}v4\"/>\n", x(tick), bottom());
  text += "</g>\n";
  const char* const number = page ? " class=\"n\"" : "";
  double free_from = -1;  // labels must not touch
  for (std::size_t i = 0; i < across.size(); ++i) {
    const double half = 3.5 * static_cast<double>(across_texts[i].size());
    if (x(across[i]) - half < free_from) continue;
    free_from = x(across[i]) + half + 6;
    text += text_at(x(across[i]), bottom() + 17, "middle", across_texts[i], number);
  }
  for (std::size_t i = 0; i < up.size(); ++i)
    text += text_at(frame_.left - 6, y(up[i]) + 4, "end", up_texts[i], number);
  if (page) return text;
  text += text_at((frame_.left + right()) / 2, bottom() + 36, "middle", chart.x_name);
  return text + fmt::format(
                    "<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                    (frame_.top + bottom()) / 2, html(chart.y_name));
}

std::string Drawing::goal(double value) const {
  return fmt::format(
      "<path class=\"goal\" d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", frame_.left,
      y(value), right(), medium_ == Medium::page ? "var(--line2)" : "#767c85");
}

std::string Drawing::curve(const Curve& curve) const {
  if (curve.x.empty()) return "";
  if (curve.x.size() == 1)
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x(curve.x[0]),
                       y(curve.y[0]), color(curve.color));
  std::string text;
  if (!curve.low.empty()) {
    text += fmt::format("<path class=\"band\" fill=\"{}\" opacity=\"0.14\" d=\"M", color(curve.color));
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      text += fmt::format("{:.1f} {:.1f}L", x(curve.x[k]), y(curve.high[k]));
    for (std::size_t k = curve.x.size(); k-- > 0;)
      text += fmt::format("{:.1f} {:.1f}{}", x(curve.x[k]), y(curve.low[k]), k == 0 ? "Z\"/>\n" : "L");
  }
  text += "<polyline " + look(curve.color) + " points=\"";
  for (std::size_t k = 0; k < curve.x.size(); ++k)
    text += fmt::format("{}{:.1f},{:.1f}", k == 0 ? "" : " ", x(curve.x[k]), y(curve.y[k]));
  text += "\"/>\n";
  if (curve.ring)
    text += fmt::format(
        "<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"2.2\"/>\n",
        x(curve.ring->first), y(curve.ring->second), medium_ == Medium::page ? "var(--panel)" : "#ffffff",
        color(curve.color));
  return text;
}

std::string Drawing::legend(const std::vector<Curve>& curves) const {
  std::string text;
  const std::size_t named = std::min(curves.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) {
    const double left = i % 2 == 0 ? frame_.left : (frame_.left + right()) / 2;
    const std::size_t legend_line = i / 2;
    const double line = frame_.height + kLegendLine * static_cast<double>(legend_line) + 4;
    text += fmt::format("<path d=\"M{:.1f} {:.1f}h26\" {}/>\n", left, line - 4, look(curves[i].color));
    const std::string more = i + 1 == kMostNamed && curves.size() > kMostNamed
                                 ? fmt::format(" (and {} more)", curves.size() - named)
                                 : "";
    std::string name = curves[i].name;
    if (name.size() > 40) {  // not in the middle of a character
      std::size_t cut = 38;
      while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0U) == 0x80U) --cut;
      name = name.substr(0, cut) + "…";
    }
    text += text_at(left + 32, line, "start", name + more);
  }
  return text;
}

// Drops points that cannot be drawn.
Curve drawable(const Curve& curve, const Chart& chart) {
  const bool banded = curve.low.size() == curve.x.size() && curve.high.size() == curve.x.size();
  Curve kept{.name = curve.name, .x = {}, .y = {}, .color = curve.color};
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i) {
    const double low = banded ? std::min(curve.low[i], curve.y[i]) : curve.y[i];
    if (!std::isfinite(curve.x[i]) || !std::isfinite(curve.y[i]) || (chart.logarithmic && low <= 0) ||
        (chart.x_logarithmic && curve.x[i] <= 0))
      continue;
    kept.x.push_back(curve.x[i]);
    kept.y.push_back(curve.y[i]);
    if (!banded) continue;
    kept.low.push_back(curve.low[i]);
    kept.high.push_back(curve.high[i]);
  }
  const auto& ring = curve.ring;
  if (ring && (!chart.x_logarithmic || ring->first > 0) && (!chart.logarithmic || ring->second > 0))
    kept.ring = ring;
  return decimated(kept, kColumns);
}

}  // namespace

Curve decimated(const Curve& curve, std::size_t columns) {
  const std::size_t count = curve.x.size();
  if (count <= 4 * columns || columns == 0) return curve;
  Curve kept{.name = curve.name, .x = {}, .y = {}, .color = curve.color, .ring = curve.ring};
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t from = column * count / columns, to = (column + 1) * count / columns;
    std::array<std::size_t, 4> chosen{from, from, from, to - 1};
    for (std::size_t i = from; i < to; ++i) {
      if (curve.y[i] < curve.y[chosen[1]]) chosen[1] = i;
      if (curve.y[i] > curve.y[chosen[2]]) chosen[2] = i;
    }
    std::ranges::sort(chosen);
    std::size_t last = count;
    for (const std::size_t i : chosen) {
      if (i == last) continue;
      kept.x.push_back(curve.x[i]);
      kept.y.push_back(curve.y[i]);
      if (!curve.low.empty()) {
        kept.low.push_back(curve.low[i]);
        kept.high.push_back(curve.high[i]);
      }
      last = i;
    }
  }
  return kept;
}

std::string line_sample(std::size_t color) {
  return fmt::format(
      "<svg width=\"22\" height=\"8\" aria-hidden=\"true\"><path d=\"M0 4H22\" stroke=\"var(--c{})\" "
      "stroke-width=\"3\"{}/></svg>",
      color % kColors.size() + 1, dashes(color));
}

std::string to_svg(const Chart& chart, Medium medium) {
  std::vector<Curve> curves;
  Range x, y;
  for (const Curve& curve : chart.curves) {
    curves.push_back(drawable(curve, chart));
    const Curve& kept = curves.back();
    for (const double value : kept.x) x.add(value);
    for (const auto* values : {&kept.y, &kept.low, &kept.high})
      for (const double value : *values) y.add(value);
  }
  if (x.empty()) return "";
  if (chart.goal) y.add(*chart.goal);
  for (const Curve& curve : curves)
    if (curve.ring) {
      x.add(curve.ring->first);
      y.add(curve.ring->second);
    }
  const Drawing drawing(medium == Medium::page ? kPage : kPaper, medium, Axis(x, chart.x_logarithmic),
                        Axis(y, chart.logarithmic));
  const Frame& frame = medium == Medium::page ? kPage : kPaper;
  const std::size_t legend_lines = medium == Medium::page ? 0 : (std::min(curves.size(), kMostNamed) + 1) / 2;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" {}>", frame.width,
      frame.height + kLegendLine * static_cast<double>(legend_lines),
      medium == Medium::page ? "class=\"chart\""
                             : "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\"");
  text += fmt::format("<title>{}</title>\n", html(chart.title));
  if (medium == Medium::paper)
    text += drawing.text_at(frame.left, 18, "start", chart.title, " font-size=\"14\" font-weight=\"bold\"");
  text += drawing.axes(chart);
  if (chart.goal) text += drawing.goal(*chart.goal);
  for (const Curve& curve : curves) text += drawing.curve(curve);
  if (medium == Medium::paper) text += drawing.legend(curves);
  return text + "</svg>\n";
}

}  // namespace veche::web
