#include "veche/base/text/utf8.h"
#include "veche/graph/io/gml_text.h"
#include "veche/graph/io/graph_file.h"

namespace veche {

std::string clean_label(std::string_view text) {
  std::string label;
  bool gap = false;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (first <= ' ' || first == 0x7f) {
      gap = !label.empty();  // no trailing blank
    } else {
      if (gap) label += ' ';
      gap = false;
      if (length > 0)
        label += text.substr(0, length);
      else
        append_utf8(label, first);
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return label;
}

}  // namespace veche
