#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veche {

// The candidate with the smallest edit distance from `word`; empty if none is close enough.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'ring'?" if a candidate is close, else "; choose one of ring, path, star".
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace veche
