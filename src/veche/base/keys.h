#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veche/base/value.h"

namespace veche {

// One key of a configuration section: what it may be, what it is when nobody says, and a line for `--help`
// and docs. A part of Veche lists its own keys; the configuration checks them all in one place.
struct KeySpec {
  // wholes, reals: lists of them; texts: a word or a list of words
  enum class Kind { flag, whole, real, text, list, wholes, reals, texts, any };

  std::string name;
  Kind kind = Kind::text;
  std::optional<Value> fallback;  // none: the key may be absent
  std::string help;
  std::vector<std::string> choices = {};  // the words allowed; empty: any
  std::optional<double> least = {};       // smallest number allowed
  bool above_least = false;               // then `least` itself is not allowed
  std::optional<double> most = {};        // largest number allowed
  bool below_most = false;                // then `most` itself is not allowed
  bool infinite = false;                  // may be inf
  bool may_be_empty = false;              // a list without items means something
};

}  // namespace veche
