#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veche {

// The candidate with the fewest edits from `word`; empty when nothing is near enough to be meant.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'ring'?" when something is near, else "; choose one of ring, path, star".
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace veche
