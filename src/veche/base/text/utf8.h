#pragma once

#include <cstddef>
#include <string_view>

namespace veche {

// How many bytes of the text begin it as one sign of UTF-8; 0: none do. A sign in more bytes than it needs, a
// surrogate and what lies beyond Unicode are none. The text is not empty.
std::size_t utf8_length(std::string_view text);

}  // namespace veche
