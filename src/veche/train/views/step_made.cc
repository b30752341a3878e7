#include "veche/train/views/step_made.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "veche/train/optim/model_step.h"
#include "veche/train/views/state_pieces.h"

namespace veche {
namespace {

struct Nonzero {
  std::uint32_t index;
  float value;
};

}  // namespace

std::vector<std::byte> coded_gradient(std::span<const float> gradient) {
  // By their bits: a negative zero must stay negative.
  const auto is_something = [](float value) { return std::bit_cast<std::uint32_t>(value) != 0; };
  const auto some = static_cast<std::size_t>(std::ranges::count_if(gradient, is_something));
  const bool sparse = some < gradient.size() / 4 && gradient.size() <= ~std::uint32_t{0};
  std::vector<std::byte> code(sparse ? some * sizeof(Nonzero) : gradient.size_bytes());
  if (!sparse) {
    std::ranges::copy(std::as_bytes(gradient), code.begin());
    return code;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (!is_something(gradient[i])) continue;
    const Nonzero one{static_cast<std::uint32_t>(i), gradient[i]};
    std::memcpy(code.data() + at, &one, sizeof one);
    at += sizeof one;
  }
  return code;
}

bool repeat_step(MemberState& self, const StepUpdate& made) {
  if (made.by == StepUpdate::By::nothing) {
    self.step = made.step + made.steps;
    return made.steps > 0;
  }
  if (made.by == StepUpdate::By::result) {
    const std::vector<std::span<float>> shared = shared_vectors(self);
    if (made.bytes.size() != bytes_in(shared)) return false;
    std::size_t at = 0;
    for (const std::span<float> vector : shared) {
      if (!vector.empty()) std::memcpy(vector.data(), made.bytes.data() + at, vector.size_bytes());
      at += vector.size_bytes();
    }
    self.step = made.step + 1;
    return true;
  }
  const std::span<float> gradient = self.learner->gradients();
  if (made.bytes.size() == gradient.size_bytes()) {
    std::memcpy(gradient.data(), made.bytes.data(), made.bytes.size());
  } else {
    if (made.bytes.size() % sizeof(Nonzero) != 0) return false;
    std::ranges::fill(gradient, 0.0F);
    for (std::size_t at = 0; at < made.bytes.size(); at += sizeof(Nonzero)) {
      Nonzero one;
      std::memcpy(&one, made.bytes.data() + at, sizeof one);
      if (one.index >= gradient.size()) return false;
      gradient[one.index] = one.value;
    }
  }
  make_step(*self.optimizer, self.learner->parameters(), gradient, {made.step, made.rate, made.scale});
  self.step = made.step + 1;
  return true;
}

}  // namespace veche
