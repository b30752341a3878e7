#include "web/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "web/report/table.h"

namespace veche::web {
namespace {

constexpr double kWidth = 640, kHeight = 340;
constexpr double kLeft = 70, kRight = 16, kTop = 34, kBottom = 46, kLegendLine = 18;
constexpr std::size_t kColumns = 300;
constexpr std::size_t kMostNamed = 12;  // in the legend

// The palette of Okabe and Ito, distinguishable with any colour blindness, darkened for white
// paper.
constexpr std::array kColors{"#0060a0", "#c04000", "#007a55", "#9a4f86", "#806000", "#30353c"};
constexpr std::array kDashes{"", "7 3", "2 3", "9 3 2 3"};

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

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.4g} G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g} M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g} k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

// Drops points that cannot be drawn.
Curve drawable(const Curve& curve, bool logarithmic) {
  Curve kept{curve.name, {}, {}};
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i) {
    if (!std::isfinite(curve.x[i]) || !std::isfinite(curve.y[i]) || (logarithmic && curve.y[i] <= 0))
      continue;
    kept.x.push_back(curve.x[i]);
    kept.y.push_back(logarithmic ? std::log10(curve.y[i]) : curve.y[i]);
  }
  return decimated(kept, kColumns);
}

std::string text_at(double x, double y, const char* anchor, const std::string& words, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     html(words));
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low) || count < 1) return ticks;
  const double rough = (high - low) / count;
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / magnitude;
  const double step = magnitude * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}

Curve decimated(const Curve& curve, std::size_t columns) {
  const std::size_t count = curve.x.size();
  if (count <= 4 * columns || columns == 0) return curve;
  Curve kept{curve.name, {}, {}};
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
      last = i;
    }
  }
  return kept;
}

std::string to_svg(const Chart& chart) {
  std::vector<Curve> curves;
  Range x, y;
  for (const Curve& curve : chart.curves) {
    curves.push_back(drawable(curve, chart.logarithmic));
    for (const double value : curves.back().x) x.add(value);
    for (const double value : curves.back().y) y.add(value);
  }
  if (x.empty()) return "";
  x.widen();
  y.widen();
  const std::size_t named = std::min(curves.size(), kMostNamed);
  const std::size_t legend_lines = (named + 1) / 2;
  const double height = kHeight + kLegendLine * static_cast<double>(legend_lines);
  const double right = kWidth - kRight, bottom = kHeight - kBottom;
  const auto at_x = [&](double value) {
    return kLeft + (value - x.low) / (x.high - x.low) * (right - kLeft);
  };
  const auto at_y = [&](double value) {
    return bottom - (value - y.low) / (y.high - y.low) * (bottom - kTop);
  };

  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\"><title>{}</title>\n",
      kWidth, height, html(chart.title));
  text += text_at(kLeft, 18, "start", chart.title, " font-size=\"14\" font-weight=\"bold\"");
  text += "<g stroke=\"currentColor\" stroke-opacity=\"0.2\">\n";
  const std::vector<double> across = round_ticks(x.low, x.high, 6), up = round_ticks(y.low, y.high, 5);
  for (const double tick : across)
    text += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", at_x(tick), kTop, bottom);
  for (const double tick : up)
    text += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, at_y(tick), right);
  text += "</g>\n";
  for (const double tick : across) text += text_at(at_x(tick), bottom + 16, "middle", tick_text(tick));
  for (const double tick : up)
    text += text_at(kLeft - 6, at_y(tick) + 4, "end",
                    chart.logarithmic ? fmt::format("{:.3g}", std::pow(10, tick)) : tick_text(tick));
  text += text_at((kLeft + right) / 2, bottom + 36, "middle", chart.x_name);
  text +=
      fmt::format("<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                  (kTop + bottom) / 2, html(chart.y_name));

  const auto look = [](std::size_t i) {
    const char* dash = kDashes[(i / kColors.size() + i) % kDashes.size()];
    return fmt::format("stroke=\"{}\" stroke-width=\"1.8\" fill=\"none\"{}", kColors[i % kColors.size()],
                       *dash == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
  };
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    if (curve.x.empty()) continue;
    if (curve.x.size() == 1) {
      text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", at_x(curve.x[0]),
                          at_y(curve.y[0]), kColors[i % kColors.size()]);
      continue;
    }
    text += "<polyline " + look(i) + " points=\"";
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      text += fmt::format("{}{:.1f},{:.1f}", k == 0 ? "" : " ", at_x(curve.x[k]), at_y(curve.y[k]));
    text += "\"/>\n";
  }
  for (std::size_t i = 0; i < named; ++i) {
    const double left = i % 2 == 0 ? kLeft : (kLeft + right) / 2;
    const std::size_t legend_line = i / 2;
    const double line = kHeight + kLegendLine * static_cast<double>(legend_line) + 4;
    text += fmt::format("<path d=\"M{:.1f} {:.1f}h26\" {}/>\n", left, line - 4, look(i));
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
  return text + "</svg>\n";
}

}  // namespace veche::web
