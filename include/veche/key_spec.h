#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veche/options.h"

namespace veche {

// One key of a configuration section: its kind, default and limits, and a line for `--help` and the
// docs. A part of Veche lists its own keys; the configuration checks them all in one place.
struct KeySpec {
  // wholes, reals: lists of them; texts: a word or a list of words; tables: one such as {nodes =
  // 2}, or a list of them. A list of tables cannot be mixed with other kinds.
  enum class Kind { flag, whole, real, text, list, wholes, reals, texts, tables, any };

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
  bool is_path = false;                   // names a file or a folder: shells complete it
};

// Keys of the usual kinds.

inline KeySpec whole_key(std::string name, std::int64_t fallback, std::string help, double least = 1) {
  return {.name = std::move(name),
          .kind = KeySpec::Kind::whole,
          .fallback = Value{fallback},
          .help = std::move(help),
          .least = least};
}

inline KeySpec real_key(std::string name, double fallback, std::string help, double least = 0) {
  return {.name = std::move(name),
          .kind = KeySpec::Kind::real,
          .fallback = Value{fallback},
          .help = std::move(help),
          .least = least};
}

inline KeySpec flag_key(std::string name, bool fallback, std::string help) {
  return {.name = std::move(name),
          .kind = KeySpec::Kind::flag,
          .fallback = Value{fallback},
          .help = std::move(help)};
}

inline KeySpec choice_key(std::string name, std::vector<std::string> choices, std::string help) {
  const Value first{choices.front()};
  return {.name = std::move(name),
          .kind = KeySpec::Kind::text,
          .fallback = first,
          .help = std::move(help),
          .choices = std::move(choices)};
}

}  // namespace veche
