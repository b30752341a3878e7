#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace veche {

// What a string of a GML file means: &amp; &#233; &#xe9; &eacute; become their signs, in UTF-8. An entity
// that is none of XML's five, no number and no name of a Latin-1 sign stays as it is.
std::string decode_entities(std::string_view text);

// Appends a sign, or nothing where Unicode has none of this number.
void append_utf8(std::string& text, std::uint32_t sign);

}  // namespace veche
