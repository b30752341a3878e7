#include "veche/train/loop/measure.h"

#include <algorithm>
#include <cmath>

#include "veche/comm/parts.h"
#include "veche/data/feed/loader.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kEvaluationBatch = 100;

std::size_t first_sample(int node, int nodes, std::size_t samples) {
  return samples * static_cast<std::size_t>(node) / static_cast<std::size_t>(nodes);
}

double coefficient_of_variation(std::span<const NodeReport> nodes, double squared_norm_of_mean) {
  double variance = 0;
  for (const NodeReport& node : nodes)
    variance += node.from_mean.l2_squared / static_cast<double>(nodes.size());
  return squared_norm_of_mean == 0 ? std::sqrt(variance) : std::sqrt(variance / squared_norm_of_mean);
}

}  // namespace

// Every node averages a part of the vector, in the order of nodes, and tells everybody.
std::vector<float> mean_over_nodes(Channel& channel, std::span<const float> mine, std::size_t idle) {
  const int nodes = channel.size();
  const int me = channel.me().value;
  const auto counts = [&](int node) { return static_cast<std::size_t>(node) >= idle; };
  for (int away = 1; counts(me) && away < nodes; ++away) {
    const NodeId owner = wrapped(me + away, nodes);
    channel.send(owner, channel.pool.copy_of(part_of(mine, nodes, owner.value)));
  }
  std::vector<float> mean(mine.size());
  const std::span<float> own = part_of(std::span<float>(mean), nodes, me);
  ModelAverage average(own);
  for (int node = 0; node < nodes; ++node) {
    if (!counts(node)) continue;
    if (node == me)
      average.add(part_of(mine, nodes, me));
    else
      average.add(channel.expect(NodeId{node}).as<float>());
  }
  average.finish();
  const Message told = channel.pool.copy_of(std::span<const float>(own));
  for (int away = 1; away < nodes; ++away) channel.send(wrapped(me + away, nodes), told);
  for (int away = 1; away < nodes; ++away) {
    const NodeId owner = wrapped(me - away, nodes);
    std::ranges::copy(channel.expect(owner).as<float>(),
                      part_of(std::span<float>(mean), nodes, owner.value).begin());
  }
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

Score evaluate_range(Endpoint& endpoint, Learner& learner, const Dataset& data, std::size_t from,
                     std::size_t to, const Tested& tested) {
  BatchStorage storage;
  Score score;
  for (std::size_t at = from; at < to; at += kEvaluationBatch) {
    const Batch batch = read_batch(data, at, std::min(kEvaluationBatch, to - at), storage);
    endpoint.compute({.step = at}, [&] { score += learner.evaluate(batch); });
    if (tested) tested(batch.size());
  }
  return score;
}

std::size_t samples_of(NodeId node, int nodes, std::size_t samples) {
  return first_sample(node.value + 1, nodes, samples) - first_sample(node.value, nodes, samples);
}

Score evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                    std::size_t idle, const Tested& tested) {
  const std::vector<float> mean_buffers = mean_over_nodes(channel, learner.buffers(), idle);
  const std::vector<float> parameters(learner.parameters().begin(), learner.parameters().end());
  const std::vector<float> buffers(learner.buffers().begin(), learner.buffers().end());
  std::ranges::copy(mean, learner.parameters().begin());
  std::ranges::copy(mean_buffers, learner.buffers().begin());

  const std::size_t from = first_sample(channel.me().value, channel.size(), data.size());
  const Score slice = evaluate_range(channel.endpoint, learner, data, from,
                                     from + samples_of(channel.me(), channel.size(), data.size()), tested);
  std::ranges::copy(parameters, learner.parameters().begin());
  std::ranges::copy(buffers, learner.buffers().begin());

  Score total;
  for (const Score& part : gather(channel, slice)) total += part;
  return total;
}

}  // namespace veche
