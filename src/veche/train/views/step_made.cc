#include "veche/train/views/step_made.h"

#include <algorithm>
#include <bit>

#include "veche/packed.h"
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
  std::vector<Nonzero> entries;
  if (sparse) entries.reserve(some);
  for (std::size_t i = 0; sparse && i < gradient.size(); ++i)
    if (is_something(gradient[i])) entries.push_back({static_cast<std::uint32_t>(i), gradient[i]});
  const auto code = sparse ? std::as_bytes(std::span<const Nonzero>(entries)) : std::as_bytes(gradient);
  return {code.begin(), code.end()};
}

bool repeat_step(MemberState& self, const StepUpdate& made) {
  if (made.by == StepUpdate::By::nothing) {
    self.step = made.step + made.steps;
    return made.steps > 0;
  }
  if (made.by == StepUpdate::By::result) {
    const std::vector<std::span<float>> shared = shared_vectors(self);
    if (made.bytes.size() != bytes_in(shared)) return false;
    std::span<const std::byte> rest(made.bytes);
    for (const std::span<float> vector : shared) {
      std::ranges::copy(rest.first(vector.size_bytes()), std::as_writable_bytes(vector).begin());
      rest = rest.subspan(vector.size_bytes());
    }
    self.step = made.step + 1;
    return true;
  }
  const std::span<float> gradient = self.learner->gradients();
  if (made.bytes.size() == gradient.size_bytes()) {
    std::ranges::copy(made.bytes, std::as_writable_bytes(gradient).begin());
  } else {
    if (made.bytes.size() % sizeof(Nonzero) != 0) return false;
    std::ranges::fill(gradient, 0.0F);
    for (const Nonzero& one : copied_items<Nonzero>(made.bytes)) {
      if (one.index >= gradient.size()) return false;
      gradient[one.index] = one.value;
    }
  }
  make_step(*self.optimizer, self.learner->parameters(), gradient, {made.step, made.rate, made.scale});
  self.step = made.step + 1;
  return true;
}

}  // namespace veche
