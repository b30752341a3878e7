#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "veche/export.h"

namespace veche {

// A stream of random numbers determined by its seed and its purpose. Every node derives the same
// numbers without communication, and one draw never disturbs another stream. The arithmetic is
// SplitMix64, because the standard distributions differ between libraries. Copying a stream copies
// its position. Not for secrets.
class VECHE_API RandomStream {
 public:
  // `purpose` names the use ("partition", "shuffle"); `a` and `b` distinguish nodes, epochs or
  // steps.
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t a = 0, std::uint64_t b = 0);

  std::uint64_t next();
  double uniform();                          // in [0, 1)
  std::uint64_t below(std::uint64_t limit);  // 0 .. limit-1, without bias; limit > 0
  double normal();                           // mean 0, variance 1

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace veche
