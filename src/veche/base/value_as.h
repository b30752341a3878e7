#pragma once

#include <string_view>

#include "veche/options.h"

namespace veche {

// The value as bool, int, std::int64_t, double, std::string, or a std::vector of double,
// std::int64_t or std::string. A whole number is taken where a double is asked for, a word where a
// list of words is. `key` names the value in errors: a value of another kind is a mistake in the
// program and throws.
template <class T>
T value_as(const Value& value, std::string_view key);

}  // namespace veche
