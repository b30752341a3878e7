#pragma once

#include <cstddef>
#include <string_view>

namespace veche {

// Length in bytes of the UTF-8 character at the start of a non-empty text; 0 if the text starts
// with no valid character. Overlong forms, surrogates and values beyond Unicode are invalid.
std::size_t utf8_length(std::string_view text);

}  // namespace veche
