#pragma once

#include <string>
#include <vector>

#include "veche/base/keys.h"

namespace veche {

// Keys that many strategies have, said once.

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

inline KeySpec every_key() { return whole_key("every", 1, "q: after every q-th step"); }

// Whether something done every q steps is done after this one.
inline bool due(std::uint64_t step, std::uint64_t every) { return (step + 1) % every == 0; }

}  // namespace veche
