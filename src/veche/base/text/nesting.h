#pragma once

#include <string_view>

namespace veche {

// Limits the nesting of a text before it is parsed. Parsers and their trees recurse, so unlimited
// nesting would overflow the stack. These functions look only at brackets and dotted keys and throw
// RequestError with the line: "line 3: brackets are nested more than 64 deep". Other errors are
// left to the parser.
constexpr int kMostNesting = 64;
void check_json_nesting(std::string_view text);
void check_toml_nesting(std::string_view text);

}  // namespace veche
