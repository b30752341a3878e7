#include "veche/train/optim/pruning.h"

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/train/measure/measure.h"

namespace veche {

constexpr std::uint64_t kCuts = 10;

// The gradual form is that of Zhu and Gupta (2017): the share that is left falls with the cube of
// the time left.
std::optional<double> PruningPlan::due(std::uint64_t steps) const {
  if (fraction == 0 || steps < from || steps > std::max(from, until)) return {};
  if (until <= from) return fraction;
  for (std::uint64_t k = kCuts; k > 0; --k)
    if (steps == from + (until - from) * k / kCuts)
      return fraction * (1 - std::pow(1 - static_cast<double>(k) / kCuts, 3));
  return {};
}

Pruner::Pruner(const PruningPlan& plan, const Learner& learner, std::size_t parameters) {
  if (plan.fraction == 0) return;
  for (const LayerSpan& layer : layers_of(learner.parameter_layout(), 0, parameters))
    if (!layer.norm_or_bias) prunable_.emplace_back(layer.from, layer.to);
  if (prunable_.empty())
    throw RequestError("model.prune finds nothing to cut: the model has no matrix and no kernel");
  mask_.assign(parameters, 1.0F);
}

void Pruner::settle() {
  for (float& on : mask_) on = on > 0.5F ? 1.0F : 0.0F;
  cut_ = std::ranges::find(mask_, 0.0F) != mask_.end();
}

void Pruner::cut(double fraction, Channel& channel, Learner& learner, Optimizer& optimizer) {
  const Message average = mean_over_nodes(channel, learner.parameters());
  const std::span<const float> mean = average.as<float>();
  std::vector<float> sizes;
  for (const auto& [from, to] : prunable_)
    for (std::size_t i = from; i < to; ++i) sizes.push_back(std::abs(mean[i]));
  const auto count = static_cast<std::size_t>(fraction * static_cast<double>(sizes.size()));
  if (count == 0) return;
  std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(count - 1));
  const float largest_off = sizes[count - 1];
  // Of weights with equal magnitude the first are cut, so that the number is exact.
  auto equals = static_cast<std::ptrdiff_t>(count) -
                std::count_if(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count),
                              [&](float size) { return size < largest_off; });
  for (const auto& [from, to] : prunable_)
    for (std::size_t i = from; i < to; ++i) {
      const float size = std::abs(mean[i]);
      if (size < largest_off || (size == largest_off && equals-- > 0)) mask_[i] = 0;
    }
  cut_ = true;
  apply(learner.parameters());
  for (const std::span<float> memory : optimizer.state())
    if (memory.size() == mask_.size()) apply(memory);
}

void Pruner::apply(std::span<float> vector) const {
  if (!cut_) return;
  for (std::size_t i = 0; i < vector.size(); ++i) vector[i] *= mask_[i];
}

}  // namespace veche
