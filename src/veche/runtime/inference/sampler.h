#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/random.h"

namespace veche {

struct Sampling {
  double temperature = 0.8;  // divides the logits; 0: always the most probable token
  int top_k = 0;             // only the K most probable tokens; 0: all
  std::uint64_t seed = 1;
};

// Draws the next token of a text from its logits. The same seed and logits give the same tokens.
class Sampler {
 public:
  // Throws RequestError unless the temperature is at least 0 and finite and top_k is at least 0.
  explicit Sampler(const Sampling& how);

  // Throws RunError where the logits are NaN.
  std::int32_t draw(std::span<const float> logits);

 private:
  struct Choice {
    std::int32_t token;
    double weight;
  };

  const Sampling how_;
  RandomStream random_;
  std::vector<Choice> choices_;
};

}  // namespace veche
