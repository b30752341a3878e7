#include "veche/base/module/modules.h"
#include "veche/graph/drawing/picture.h"

namespace veche {

void write_png(const Picture& picture, const std::string& path) {
  module_function<void(const Picture&, const std::string&)>(modules::kCairo, "veche_write_png")(picture,
                                                                                                path);
}

}  // namespace veche
