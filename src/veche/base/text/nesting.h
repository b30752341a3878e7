#pragma once

#include <string_view>

namespace veche {

// Parsers and the trees they make go down by recursion: a text that nests without end would end the program.
// These look at brackets and dotted keys before anything is parsed, and throw RequestError with the line:
// "line 3: brackets are nested more than 64 deep". Everything else that is wrong with a text is left to its
// parser.
constexpr int kMostNesting = 64;
void check_json_nesting(std::string_view text);
void check_toml_nesting(std::string_view text);

}  // namespace veche
