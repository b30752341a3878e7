#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "veche/train/views/member_state.h"

namespace veche {

// How a step changed the shared state: enough to repeat it to the bit.
struct StepUpdate {
  enum class By : std::uint64_t {
    gradient,  // by the optimizer, from the mean gradient: `bytes` as coded_gradient returns them
    result,    // `bytes` are the parameters and the common state after the step
    nothing,   // the shared state has not changed
  } by = By::gradient;
  std::uint64_t step = 0;   // steps made before
  std::uint64_t steps = 1;  // of `nothing`: the number of steps in a row
  double rate = 0, scale = 1;
  std::vector<std::byte> bytes = {};
};

// The gradient as it is, or if most of it is zero (after a codec), the other elements and their
// indices.
std::vector<std::byte> coded_gradient(std::span<const float> gradient);
// Repeats a step on this node. Returns false if it is damaged or of another model.
bool repeat_step(MemberState& self, const StepUpdate& made);

}  // namespace veche
