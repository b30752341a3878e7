#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace veche {

// What a checkpoint must keep of something, all in place.
struct SavedState {
  std::vector<std::span<float>> vectors;
  std::vector<std::uint64_t*> numbers;
};

}  // namespace veche
