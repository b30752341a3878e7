#include <fmt/format.h>

#include <cmath>

#include "veche/graph/drawing/picture.h"

namespace veche {
namespace {

std::string escaped(const std::string& words) {
  std::string result;
  for (const char c : words) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string to_svg(const Picture& picture) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n"
      "<g fill=\"none\" stroke-linecap=\"round\">\n",
      picture.width, picture.height);
  for (const auto& curve : picture.curves) {
    const bool straight = std::abs(curve.from.x + curve.to.x - 2 * curve.middle.x) +
                                  std::abs(curve.from.y + curve.to.y - 2 * curve.middle.y) <
                              30 &&
                          !curve.arrow;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}", curve.from.x, curve.from.y);
    if (straight || curve.arrow)
      svg += fmt::format("L{:.1f} {:.1f}", curve.to.x, curve.to.y);
    else
      svg +=
          fmt::format("Q{:.1f} {:.1f} {:.1f} {:.1f}", curve.middle.x, curve.middle.y, curve.to.x, curve.to.y);
    svg += fmt::format("\" stroke=\"{}\" stroke-width=\"{:.2g}\"{}/>\n", curve.color, curve.width,
                       curve.dashed ? " stroke-dasharray=\"6 5\"" : "");
    if (!curve.arrow) continue;
    const double angle = std::atan2(curve.to.y - curve.from.y, curve.to.x - curve.from.x);
    const double size = 7 + curve.width;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}", curve.to.x, curve.to.y);
    for (const double side : {-0.4, 0.4}) {
      svg += fmt::format("L{:.1f} {:.1f}", curve.to.x - size * std::cos(angle + side),
                         curve.to.y - size * std::sin(angle + side));
    }
    svg += std::string("Z\" fill=\"#1f3a5f\"/>\n");
  }
  svg += "</g>\n";
  for (const auto& disc : picture.discs) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
        disc.center.x, disc.center.y, disc.radius, disc.fill, disc.outline, disc.outline_width);
  }
  for (const auto& text : picture.texts) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"{}\"{}{}>{}</text>\n",
                       text.at.x, text.at.y + 0.35 * text.size, text.size, text.color,
                       text.centered ? " text-anchor=\"middle\"" : "",
                       text.bold ? " font-weight=\"bold\"" : "", escaped(text.words));
  }
  return svg + "</svg>\n";
}

}  // namespace veche
