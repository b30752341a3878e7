// The module veche_cairo writes pictures as PNG. It is a module because loading cairo and its fonts
// would slow the start of every command.
#include <cairo.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <numbers>

#include "veche/base/module_api.h"
#include "veche/errors.h"
#include "veche/graph/drawing/picture.h"

namespace veche {
namespace {

void set_color(cairo_t* context, const std::string& color) {  // "#rrggbb"
  const auto value = std::strtoul(color.c_str() + 1, nullptr, 16);
  cairo_set_source_rgb(context, static_cast<double>(value >> 16 & 255) / 255,
                       static_cast<double>(value >> 8 & 255) / 255, static_cast<double>(value & 255) / 255);
}

void paint(cairo_t* context, const Picture::Curve& curve) {
  set_color(context, curve.color);
  cairo_set_line_width(context, curve.width);
  const double dashes[] = {6, 5};
  cairo_set_dash(context, dashes, curve.dashed ? 2 : 0, 0);
  cairo_move_to(context, curve.from.x, curve.from.y);
  const auto toward_middle = [&](Point end) {
    return Point{end.x + (curve.middle.x - end.x) * 2 / 3, end.y + (curve.middle.y - end.y) * 2 / 3};
  };
  if (curve.arrow) {
    cairo_line_to(context, curve.to.x, curve.to.y);
  } else {
    const Point a = toward_middle(curve.from), b = toward_middle(curve.to);
    cairo_curve_to(context, a.x, a.y, b.x, b.y, curve.to.x, curve.to.y);
  }
  cairo_stroke(context);
  if (!curve.arrow) return;
  const double angle = std::atan2(curve.to.y - curve.from.y, curve.to.x - curve.from.x),
               size = 7 + curve.width;
  set_color(context, "#1f3a5f");
  cairo_move_to(context, curve.to.x, curve.to.y);
  for (const double side : {-0.4, 0.4}) {
    cairo_line_to(context, curve.to.x - size * std::cos(angle + side),
                  curve.to.y - size * std::sin(angle + side));
  }
  cairo_fill(context);
}

void paint(cairo_t* context, const Picture::Disc& disc) {
  cairo_set_dash(context, nullptr, 0, 0);
  cairo_arc(context, disc.center.x, disc.center.y, disc.radius, 0, 2 * std::numbers::pi);
  set_color(context, disc.fill);
  cairo_fill_preserve(context);
  set_color(context, disc.outline);
  cairo_set_line_width(context, disc.outline_width);
  cairo_stroke(context);
}

void paint(cairo_t* context, const Picture::Text& text) {
  cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         text.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, text.size);
  cairo_text_extents_t extents;
  cairo_text_extents(context, text.words.c_str(), &extents);
  set_color(context, text.color);
  const double left = text.centered ? text.at.x - extents.x_advance / 2 : text.at.x;
  cairo_move_to(context, left, text.at.y + 0.35 * text.size);
  cairo_show_text(context, text.words.c_str());
}

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API void veche_write_png(const veche::Picture& picture, const std::string& path) {
  using namespace veche;
  constexpr double zoom = 2;
  const std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(zoom * picture.width),
                                 static_cast<int>(zoom * picture.height)),
      cairo_surface_destroy);
  const std::unique_ptr<cairo_t, void (*)(cairo_t*)> context(cairo_create(surface.get()), cairo_destroy);
  cairo_scale(context.get(), zoom, zoom);
  set_color(context.get(), "#ffffff");
  cairo_paint(context.get());
  cairo_set_line_cap(context.get(), CAIRO_LINE_CAP_ROUND);
  for (const auto& curve : picture.curves) paint(context.get(), curve);
  for (const auto& disc : picture.discs) paint(context.get(), disc);
  for (const auto& text : picture.texts) paint(context.get(), text);
  if (cairo_surface_write_to_png(surface.get(), path.c_str()) != CAIRO_STATUS_SUCCESS) {
    throw RequestError("the picture '" + path + "' cannot be written");
  }
}
