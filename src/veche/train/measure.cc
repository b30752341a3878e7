#include "veche/train/measure.h"

#include <algorithm>
#include <cmath>

#include "veche/base/vector_math.h"
#include "veche/data/loader.h"

namespace veche {
namespace {

constexpr std::size_t kEvaluationBatch = 100;

double coefficient_of_variation(std::span<const NodeReport> nodes, double squared_norm_of_mean) {
  double variance = 0;
  for (const NodeReport& node : nodes)
    variance += node.from_mean.l2_squared / static_cast<double>(nodes.size());
  return squared_norm_of_mean == 0 ? std::sqrt(variance) : std::sqrt(variance / squared_norm_of_mean);
}

}  // namespace

std::vector<float> mean_over_nodes(Channel& channel, std::span<const float> mine) {
  std::vector<float> mean(mine.begin(), mine.end());
  all_reduce(channel, mean);
  scale(mean, 1.0F / static_cast<float>(channel.size()));
  return mean;
}

void sum_up(Evaluation& evaluation, double squared_norm_of_mean, std::size_t idle) {
  evaluation.cv = coefficient_of_variation(std::span(evaluation.nodes).subspan(idle), squared_norm_of_mean);
  double images = 0;
  for (const NodeReport& node : evaluation.nodes) {
    images += static_cast<double>(node.images);
    evaluation.seconds = std::max(evaluation.seconds, node.training_seconds);
  }
  evaluation.images_per_second = evaluation.seconds > 0 ? images / evaluation.seconds : 0;
}

Score evaluate_range(Learner& learner, const Dataset& data, std::size_t from, std::size_t to, Slots& slots) {
  BatchStorage storage;
  Score score;
  for (std::size_t at = from; at < to; at += kEvaluationBatch) {
    const Batch batch = read_batch(data, at, std::min(kEvaluationBatch, to - at), storage);
    const Slots::Turn turn(slots, at);
    score += learner.evaluate(batch);
  }
  return score;
}

Score evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                    Slots& slots) {
  const std::vector<float> mean_buffers = mean_over_nodes(channel, learner.buffers());
  const std::vector<float> parameters(learner.parameters().begin(), learner.parameters().end());
  const std::vector<float> buffers(learner.buffers().begin(), learner.buffers().end());
  std::ranges::copy(mean, learner.parameters().begin());
  std::ranges::copy(mean_buffers, learner.buffers().begin());

  const auto nodes = static_cast<std::size_t>(channel.size());
  const auto me = static_cast<std::size_t>(channel.me().value);
  const Score slice =
      evaluate_range(learner, data, data.size() * me / nodes, data.size() * (me + 1) / nodes, slots);
  std::ranges::copy(parameters, learner.parameters().begin());
  std::ranges::copy(buffers, learner.buffers().begin());

  Score total;
  for (const Score& part : gather(channel, slice)) total += part;
  return total;
}

}  // namespace veche
