#pragma once

#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// While it lives, random operations of this thread without an explicit generator (dropout,
// bernoulli_, uniform_, normal_, random_) use a generator with this seed instead of the
// process-wide one. A pass then does not depend on what other nodes do. Not nestable.
class RepeatableRandom {
 public:
  explicit RepeatableRandom(std::uint64_t seed);
  ~RepeatableRandom();
  RepeatableRandom(const RepeatableRandom&) = delete;
  RepeatableRandom& operator=(const RepeatableRandom&) = delete;
};

}  // namespace veche::torch_model
