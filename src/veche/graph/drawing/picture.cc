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

// The sizes of a drawing that follow from the layout.
struct Sizes {
  Sizes(const Layout& layout, int count) {
    const auto [left, right] = std::ranges::minmax(layout.places, {}, &Point::x);
    const auto [top, bottom] = std::ranges::minmax(layout.places, {}, &Point::y);
    low = {left.x, top.y};
    high = {right.x, bottom.y};
    const double span = std::max({high.x - low.x, high.y - low.y, 1.0});
    const double size = std::clamp(500.0 + 5 * count, 620.0, 1000.0);
    unit = std::clamp(size / span, count > 400 ? 6.0 : 24.0, 78.0);
    bow = std::ranges::max(layout.bends) * unit;
    const double room =
        unit * std::sqrt((high.x - low.x + 1) * (high.y - low.y + 1) / count);  // area per node
    radius = std::clamp(std::min(0.27 * unit, 0.2 * room), 2.5, 13.0);
  }

  Point low, high;    // corners of the layout
  double unit = 1;    // of the layout, in points
  double bow = 0;     // of the edge that is bent most
  double radius = 1;  // of a node
};

class Drawing {
 public:
  Drawing(const Graph& graph, const Mixing& mixing, const Layout& layout, const std::string& title,
          std::span<const std::string> labels)
      : graph_(graph),
        mixing_(mixing),
        layout_(layout),
        sizes_(layout, graph.nodes()),
        captions_(labels, sizes_.radius) {
    // The longest label may extend half its width beyond a node at the edge.
    const double side = std::max(margin + sizes_.bow, captions_.half_width() + 4);
    const double drawn_width = sizes_.unit * (sizes_.high.x - sizes_.low.x) + 2 * side;
    picture_.width = std::max({drawn_width, 400.0, 2 * margin + 7.6 * static_cast<double>(title.size())});
    picture_.height =
        sizes_.unit * (sizes_.high.y - sizes_.low.y) + 2 * (margin + sizes_.bow) + captions_.size() + 46;
    scale_ = {sizes_.unit, side - sizes_.unit * sizes_.low.x,
              margin + sizes_.bow - sizes_.unit * sizes_.low.y};
    shift_ = (picture_.width - drawn_width) / 2;
    choose_widths();
  }

  void add_edges() {
    for (std::size_t e = 0; e < graph_.edges().size(); ++e) add_edge(e);
    std::ranges::stable_sort(picture_.curves, {}, &Picture::Curve::dashed);  // the rare dashed curves on top
  }

  void add_nodes() {
    for (int i = 0; i < graph_.nodes(); ++i) {
      const Point center = place(i);
      const bool below = weight_between(mixing_, i, i) < 0;
      negative_node_ |= below;
      picture_.discs.push_back({center, sizes_.radius, ink, below ? negative : "#ffffff", below ? 2.0 : 1.2});
      if (sizes_.radius >= 6)
        picture_.texts.push_back({center, std::to_string(i), 0.95 * sizes_.radius, "#ffffff", true, true});
      captions_.add(picture_, i, center);
    }
  }

  // The title, and what the lines mean; after edges and nodes.
  void add_legend(const std::string& title) {
    const double base = picture_.height - 40, row = base + 22;
    picture_.texts.push_back({{margin, base}, title, 13, ink, false, true});
    double x = margin;
    if (!alike_)
      x = add_sample(picture_, {x, row}, widths_(widths_.least), false, fmt::format("{:.3g}", widths_.least));
    x = add_sample(picture_, {x, row}, widths_(widths_.most), false,
                   fmt::format("weight {:.3g}", widths_.most));
    if (negative_edge_) x = add_sample(picture_, {x, row}, 2, true, "negative");
    if (negative_node_) {
      picture_.discs.push_back({{x + 5, row}, 5, ink, negative, 2});
      picture_.texts.push_back({{x + 16, row}, "negative own weight", 11, quiet, false, false});
      x += 140;
    }
    picture_.width = std::max(picture_.width, x);
  }

  Picture take() { return std::move(picture_); }

 private:
  bool directed() const { return graph_.kind() == Graph::Kind::directed; }

  Point place(int node) const {
    Point point = scale_(layout_.places[static_cast<std::size_t>(node)]);
    point.x += shift_;
    return point;
  }

  void choose_widths() {
    // Thin lines read better where many lines cross or all weights are equal.
    const int count = graph_.nodes();
    const double crowd = static_cast<double>(graph_.edges().size()) / count;
    widths_.thick = std::clamp(0.55 * sizes_.radius, 1.5, 7.0) /
                    std::sqrt(std::max({1.0, crowd / 4, count * crowd / 160}));
    for (const auto [from, to] : graph_.edges()) {
      const double weight = weight_between(mixing_, to, from);
      negative_edge_ |= weight < 0;
      widths_.least = std::min(widths_.least, std::abs(weight));
      widths_.most = std::max(widths_.most, std::abs(weight));
    }
    alike_ = widths_.most - widths_.least <= 1e-6 * widths_.most;
    if (alike_ || directed()) widths_.thick = std::min(widths_.thick, directed() ? 1.6 : 3.0);
  }

  void add_edge(std::size_t e) {
    const auto [i, j] = graph_.edges()[e];
    const Point a = place(i), b = place(j);
    const double length = std::max(1e-9, std::hypot(b.x - a.x, b.y - a.y));
    const double pull = 2 * sizes_.unit * layout_.bends[e] /
                        length;  // a quadratic curve reaches half way to its control point
    const Point middle{(a.x + b.x) / 2 + pull * (b.y - a.y), (a.y + b.y) / 2 - pull * (b.x - a.x)};
    const double weight = weight_between(mixing_, j, i);
    picture_.curves.push_back(
        {a, middle, b, widths_(weight), weight < 0 ? negative : line, weight < 0, directed()});
    if (!directed()) return;
    const double rim = sizes_.radius + 1;  // the tip of the arrow touches it
    picture_.curves.back().to = {b.x - (b.x - a.x) / length * rim, b.y - (b.y - a.y) / length * rim};
  }

  const Graph& graph_;
  const Mixing& mixing_;
  const Layout& layout_;
  const Sizes sizes_;
  const Captions captions_;
  Picture picture_;
  Scale scale_{};
  double shift_ = 0;  // to the right, where the picture is wider than the graph
  Widths widths_;
  bool alike_ = false;  // all weights are equal
  bool negative_edge_ = false, negative_node_ = false;
};

}  // namespace

Picture draw(const Graph& graph, const Mixing& mixing, const Layout& layout, const std::string& title,
             std::span<const std::string> labels) {
  if (graph.nodes() > 2000)
    throw RequestError(
        fmt::format("a picture of {} nodes would be a smudge: 2,000 is the most", graph.nodes()));
  Drawing drawing(graph, mixing, layout, title, labels);
  drawing.add_edges();
  drawing.add_nodes();
  drawing.add_legend(title);
  return drawing.take();
}

}  // namespace veche
