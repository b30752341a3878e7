#include "veche/graph/drawing/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "veche/errors.h"
#include "veche/graph/facts.h"

namespace veche {
namespace {

constexpr const char* ink = "#1f3a5f";
constexpr const char* line = "#6c8ebf";
constexpr const char* negative = "#d1495b";
constexpr const char* quiet = "#5a6572";
constexpr double margin = 26;

struct Scale {
  double unit, left, top;
  Point operator()(Point p) const { return {left + unit * p.x, top + unit * p.y}; }
};

struct Widths {
  double least = std::numeric_limits<double>::infinity(), most = 0;  // of the absolute weights
  double thick = 7;
  double operator()(double weight) const {
    return most == 0 ? 1 : std::max(weight < 0 ? 1.3 : 0.6, thick * std::abs(weight) / most);
  }
};

// The labels under the nodes; long labels are truncated.
class Captions {
 public:
  Captions(std::span<const std::string> labels, double radius)
      : size_(labels.empty() ? 0 : std::clamp(0.9 * radius, 5.0, 10.0)), radius_(radius) {
    for (const std::string& label : labels) {
      words_.push_back(shortened(label));
      const auto signs = static_cast<double>(std::ranges::count_if(words_.back(), begins_sign));
      half_width_ = std::max(half_width_, 0.3 * size_ * signs);
    }
  }
  double size() const { return size_; }
  double half_width() const { return half_width_; }
  void add(Picture& picture, int node, Point center) const {
    if (words_.empty() || words_[static_cast<std::size_t>(node)].empty()) return;
    picture.texts.push_back({{center.x, center.y + radius_ + 0.75 * size_},
                             words_[static_cast<std::size_t>(node)],
                             size_,
                             ink,
                             true,
                             false});
  }

 private:
  static bool begins_sign(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }
  static std::string shortened(const std::string& label) {
    constexpr std::size_t kMost = 24;
    std::size_t signs = 0;
    for (std::size_t i = 0; i < label.size(); ++i)
      if (begins_sign(label[i]) && ++signs > kMost) return label.substr(0, i) + "…";
    return label;
  }

  const double size_, radius_;
  double half_width_ = 0;
  std::vector<std::string> words_;
};

// One entry of the legend: a sample line and its meaning.
double add_sample(Picture& picture, Point at, double width, bool dashed, const std::string& words) {
  const Point to{at.x + 26, at.y};
  picture.curves.push_back({at, {at.x + 13, at.y}, to, width, dashed ? negative : line, dashed, false});
  picture.texts.push_back({{to.x + 6, at.y}, words, 11, quiet, false, false});
  return to.x + 6 + 6.2 * static_cast<double>(words.size()) + 14;
}

}  // namespace

Picture draw(const Graph& graph, const Mixing& mixing, const Layout& layout, const std::string& title,
             std::span<const std::string> labels) {
  const int count = graph.nodes();
  if (count > 2000) {
    throw RequestError(fmt::format("a picture of {} nodes would be a smudge: 2,000 is the most", count));
  }
  const auto [left, right] = std::ranges::minmax(layout.places, {}, &Point::x);
  const auto [top, bottom] = std::ranges::minmax(layout.places, {}, &Point::y);
  const double span = std::max({right.x - left.x, bottom.y - top.y, 1.0});
  const double size = std::clamp(500.0 + 5 * count, 620.0, 1000.0);
  const double unit = std::clamp(size / span, count > 400 ? 6.0 : 24.0, 78.0);
  const double bow = std::ranges::max(layout.bends) * unit;
  const double room =
      unit * std::sqrt((right.x - left.x + 1) * (bottom.y - top.y + 1) / count);  // area per node
  const double radius = std::clamp(std::min(0.27 * unit, 0.2 * room), 2.5, 13.0);

  const Captions captions(labels, radius);
  // The longest label may extend half its width beyond a node at the edge.
  const double side = std::max(margin + bow, captions.half_width() + 4);
  const Scale scale{unit, side - unit * left.x, margin + bow - unit * top.y};

  Picture picture;
  const double drawn_width = unit * (right.x - left.x) + 2 * side;
  picture.width = std::max({drawn_width, 400.0, 2 * margin + 7.6 * static_cast<double>(title.size())});
  picture.height = unit * (bottom.y - top.y) + 2 * (margin + bow) + captions.size() + 46;
  const double shift = (picture.width - drawn_width) / 2;

  Widths widths;
  // Thin lines read better where many lines cross or all weights are equal.
  const double crowd = static_cast<double>(graph.edges().size()) / count;
  widths.thick =
      std::clamp(0.55 * radius, 1.5, 7.0) / std::sqrt(std::max({1.0, crowd / 4, count * crowd / 160}));
  bool any_negative = false;
  for (const auto [from, to] : graph.edges()) {
    const double weight = weight_between(mixing, to, from);
    any_negative |= weight < 0;
    widths.least = std::min(widths.least, std::abs(weight));
    widths.most = std::max(widths.most, std::abs(weight));
  }
  const bool alike = widths.most - widths.least <= 1e-6 * widths.most;
  const bool directed = graph.kind() == Graph::Kind::directed;
  if (alike || directed) widths.thick = std::min(widths.thick, directed ? 1.6 : 3.0);
  for (std::size_t e = 0; e < graph.edges().size(); ++e) {
    const auto [i, j] = graph.edges()[e];
    Point a = scale(layout.places[static_cast<std::size_t>(i)]),
          b = scale(layout.places[static_cast<std::size_t>(j)]);
    a.x += shift;
    b.x += shift;
    const double length = std::max(1e-9, std::hypot(b.x - a.x, b.y - a.y));
    const double pull =
        2 * unit * layout.bends[e] / length;  // a quadratic curve reaches half way to its control point
    const Point middle{(a.x + b.x) / 2 + pull * (b.y - a.y), (a.y + b.y) / 2 - pull * (b.x - a.x)};
    const double weight = weight_between(mixing, j, i);
    picture.curves.push_back(
        {a, middle, b, widths(weight), weight < 0 ? negative : line, weight < 0, directed});
    if (directed) {  // the tip of the arrow touches the rim of the node
      Point& tip = picture.curves.back().to;
      tip = {b.x - (b.x - a.x) / length * (radius + 1), b.y - (b.y - a.y) / length * (radius + 1)};
    }
  }
  std::ranges::stable_sort(picture.curves, {}, &Picture::Curve::dashed);  // the rare dashed curves on top
  bool any_below = false;
  for (int i = 0; i < count; ++i) {
    Point center = scale(layout.places[static_cast<std::size_t>(i)]);
    center.x += shift;
    const bool below = weight_between(mixing, i, i) < 0;
    any_below |= below;
    picture.discs.push_back({center, radius, ink, below ? negative : "#ffffff", below ? 2.0 : 1.2});
    if (radius >= 6)
      picture.texts.push_back({center, std::to_string(i), 0.95 * radius, "#ffffff", true, true});
    captions.add(picture, i, center);
  }

  const double base = picture.height - 40;
  picture.texts.push_back({{margin, base}, title, 13, ink, false, true});
  double x = margin;
  const Point row{0, base + 22};
  if (!alike) {
    x = add_sample(picture, {x, row.y}, widths(widths.least), false, fmt::format("{:.3g}", widths.least));
    x = add_sample(picture, {x, row.y}, widths(widths.most), false,
                   fmt::format("weight {:.3g}", widths.most));
  } else {
    x = add_sample(picture, {x, row.y}, widths(widths.most), false,
                   fmt::format("weight {:.3g}", widths.most));
  }
  if (any_negative) x = add_sample(picture, {x, row.y}, 2, true, "negative");
  if (any_below) {
    picture.discs.push_back({{x + 5, row.y}, 5, ink, negative, 2});
    picture.texts.push_back({{x + 16, row.y}, "negative own weight", 11, quiet, false, false});
    x += 140;
  }
  picture.width = std::max(picture.width, x);
  return picture;
}

}  // namespace veche
