#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace veche {

// Returns the vector of a fixed number of steps ago, and zeros before that: to study methods under
// a fixed delay.
class DelayLine {
 public:
  DelayLine(std::int64_t steps, std::size_t length)
      : waiting_(static_cast<std::size_t>(steps), std::vector<float>(length)) {}

  void pass(std::span<float> vector) {
    for (std::vector<float>& next : waiting_) std::swap_ranges(vector.begin(), vector.end(), next.begin());
  }
  void add_state(std::vector<std::span<float>>& state) {
    for (std::vector<float>& vector : waiting_) state.emplace_back(vector);
  }

 private:
  std::vector<std::vector<float>> waiting_;  // newest first
};

}  // namespace veche
