#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace veche {

// Decodes a string of a GML file: &amp; &#233; &#xe9; &eacute; become UTF-8 characters. Unknown
// entities stay as they are; known are XML's five, numbers and the names of Latin-1 characters.
std::string decode_entities(std::string_view text);

// Appends a character, or nothing if it is no Unicode character.
void append_utf8(std::string& text, std::uint32_t sign);

}  // namespace veche
