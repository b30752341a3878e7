#pragma once

#include "veche/key_spec.h"
#include "veche/options.h"

namespace veche {

inline KeySpec every_key() { return whole_key("every", 1, "q: after every q-th step"); }
inline std::uint64_t every_in(const Options& options) {
  return static_cast<std::uint64_t>(options.get<std::int64_t>("every"));
}

// Whether something done every q steps is done after this one.
inline bool due(std::uint64_t step, std::uint64_t every) { return (step + 1) % every == 0; }

}  // namespace veche
