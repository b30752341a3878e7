#include "veche/base/module/module.h"
#include "veche/graph/drawing/picture.h"

namespace veche {

void write_png(const Picture& picture, const std::string& path) {
  const Module cairo{"veche_cairo.so", "PNG pictures", "libcairo2-dev"};
  module_function<void(const Picture&, const std::string&)>(cairo, "veche_write_png")(picture, path);
}

}  // namespace veche
