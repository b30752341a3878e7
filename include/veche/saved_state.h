#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace veche {

// State that a checkpoint saves and restores in place.
struct SavedState {
  std::vector<std::span<float>> vectors;
  std::vector<std::uint64_t*> numbers;
};

}  // namespace veche
