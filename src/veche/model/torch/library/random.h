#pragma once

#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// While it lives, libtorch's random operations of this thread (dropout, bernoulli_, uniform_, normal_,
// random_) that were given no generator draw from one with this seed, instead of from the one that all
// threads of the program share: a pass is then the same whatever the other nodes do. Not nested.
class RepeatableRandom {
 public:
  explicit RepeatableRandom(std::uint64_t seed);
  ~RepeatableRandom();
  RepeatableRandom(const RepeatableRandom&) = delete;
  RepeatableRandom& operator=(const RepeatableRandom&) = delete;
};

}  // namespace veche::torch_model
