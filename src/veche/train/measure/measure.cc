#include "veche/train/measure/measure.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "veche/comm/broadcast.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/equal_everywhere.h"
#include "veche/comm/parts.h"
#include "veche/data/feed/loader.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kEvaluationBatch = 100;
constexpr int kMostAveragers = 16;  // if all of ten thousand nodes averaged, there would be 10^8 messages
constexpr int kMostAlike = 64;  // comparing hashes costs a pass over the model per node: less than sending it

// If the model is in stages, each node has a part of the squares.
double coefficient_of_variation(std::span<const NodeReport> nodes, double squared_norm_of_mean) {
  double variance = 0;
  for (const NodeReport& node : nodes)
    variance += node.from_mean.l2_squared * node.stage.stages / static_cast<double>(nodes.size());
  return squared_norm_of_mean == 0 ? std::sqrt(variance) : std::sqrt(variance / squared_norm_of_mean);
}

// Without a copy.
Message view_of(std::span<const float> numbers) {
  auto* bytes = const_cast<std::byte*>(std::as_bytes(numbers).data());
  return {std::shared_ptr<std::byte>(std::shared_ptr<void>(), bytes), numbers.size_bytes()};
}

}  // namespace

// Some nodes average a part of the vector each, adding the nodes in order. Node 0 joins the parts
// and broadcasts the mean. Nodes of several processes whose models are all equal, as after an
// all-reduce, do not send them.
Message mean_over_nodes(Channel& channel, std::span<const float> mine, std::size_t idle) {
  if (mine.empty()) return {};
  const int nodes = channel.size();
  const int me = channel.me().value;
  const int parts = std::min(nodes, kMostAveragers);
  const auto averager = [&](int part) {
    return NodeId{static_cast<int>(std::int64_t{part} * nodes / parts)};
  };
  const auto counts = [&](int node) { return static_cast<std::size_t>(node) >= idle; };
  EngineCollectives* const engine = channel.endpoint.collectives();
  const bool in_place = engine != nullptr && engine->one_process();
  if (!in_place && idle == 0 && nodes <= kMostAlike && equal_everywhere(channel, mine))
    return channel.pool.copy_of(mine);  // the average of equal models, to the bit
  for (int part = 0; counts(me) && part < parts; ++part) {
    if (averager(part).value == me) continue;
    const std::span<const float> theirs = part_of(mine, parts, part);
    channel.send(averager(part), in_place ? view_of(theirs) : channel.pool.copy_of(theirs));
  }
  Message averaged;
  for (int part = 0; part < parts; ++part) {
    if (averager(part).value != me) continue;
    const std::span<const float> own = part_of(mine, parts, part);
    averaged = channel.pool.make(own.size_bytes());
    ModelAverage average(averaged.writable<float>());
    for (int node = 0; node < nodes; ++node) {
      if (!counts(node)) continue;
      if (node == me)
        average.add(own);
      else
        average.add(channel.expect(NodeId{node}, own.size_bytes()).as<float>());
    }
    average.finish();
  }
  if (me != 0) {
    if (averaged.size() > 0) channel.send(NodeId{0}, std::move(averaged));
    return broadcast(channel, NodeId{0}, Message{}, mine.size_bytes());
  }
  Message whole = channel.pool.make(mine.size_bytes());
  for (int part = 0; part < parts; ++part) {
    const std::span<float> place = part_of(whole.writable<float>(), parts, part);
    if (place.empty()) continue;
    const Message told = part == 0 ? averaged : channel.expect(averager(part), place.size_bytes());
    std::ranges::copy(told.as<float>(), place.begin());
  }
  return broadcast(channel, NodeId{0}, std::move(whole), mine.size_bytes());
}

Message gather_bytes(Channel& channel, std::span<const std::byte> mine) {
  const std::size_t bytes = static_cast<std::size_t>(channel.size()) * mine.size();
  if (channel.me().value != 0) {
    channel.send(NodeId{0}, channel.pool.copy_of(mine));
    return broadcast(channel, NodeId{0}, Message{}, bytes);
  }
  Message all = channel.pool.make(bytes);
  auto end = std::ranges::copy(mine, all.writable<std::byte>().begin()).out;
  for (int node = 1; node < channel.size(); ++node)
    end = std::ranges::copy(channel.expect(NodeId{node}, mine.size()).bytes(), end).out;
  return broadcast(channel, NodeId{0}, std::move(all), bytes);
}

void sum_up(Evaluation& evaluation, double squared_norm_of_mean, std::size_t idle) {
  const auto stages = static_cast<std::size_t>(evaluation.nodes.front().stage.stages);
  evaluation.cv =
      coefficient_of_variation(std::span(evaluation.nodes).subspan(idle * stages), squared_norm_of_mean);
  double targets = 0;
  for (const NodeReport& node : evaluation.nodes) {
    targets += static_cast<double>(node.targets);
    evaluation.seconds = std::max(evaluation.seconds, node.training_seconds);
  }
  evaluation.targets_per_second = evaluation.seconds > 0 ? targets / evaluation.seconds : 0;
}

Lending::Lending(Learner& learner, const LentModel& model)
    : learner_(learner),
      parameters_(learner.parameters().begin(), learner.parameters().end()),
      buffers_(learner.buffers().begin(), learner.buffers().end()) {
  std::ranges::copy(model.parameters, learner.parameters().begin());
  std::ranges::copy(model.buffers, learner.buffers().begin());
}

Lending::~Lending() {
  std::ranges::copy(parameters_, learner_.parameters().begin());
  std::ranges::copy(buffers_, learner_.buffers().begin());
}

Score evaluate_batch(Learner& learner, const Batch& batch, ClassScores* classes) {
  if (classes == nullptr || !classes->collects()) return learner.evaluate(batch);
  std::vector<Outcome> outcomes(batch.size());
  const Score score = learner.evaluate_each(batch, outcomes);
  classes->add(batch, outcomes);
  return score;
}

Score evaluate_range(Endpoint& endpoint, Learner& learner, const Dataset& data, std::size_t from,
                     std::size_t to, const Tested& tested, const LentModel* model, ClassScores* classes) {
  BatchStorage storage;
  Score score;
  for (std::size_t at = from; at < to; at += kEvaluationBatch) {
    const Batch batch = read_batch(data, at, std::min(kEvaluationBatch, to - at), storage);
    endpoint.compute({.step = at}, [&] {
      std::optional<Lending> lending;
      if (model != nullptr) lending.emplace(learner, *model);
      score += evaluate_batch(learner, batch, classes);
    });
    if (tested) tested(batch.size());
  }
  return score;
}

TestResult untested(const Dataset& data) {
  TestResult result;
  result.task = data.task();
  if (const TokenSamples* text = data.tokens()) result.characters_per_token = text->characters_per_token();
  return result;
}

TestResult result_of(const Dataset& data, const Score& score, ClassScores classes) {
  TestResult result = untested(data);
  result += score;
  std::move(classes).complete(result);
  return result;
}

TestResult joined_result(Channel& channel, const Dataset& data, const Score& mine, ClassScores classes) {
  TestResult result = untested(data);
  const Gathered<Score> slices(channel, mine);
  for (const Score& part : slices.all()) result += part;
  std::move(classes).complete(channel, result);
  return result;
}

TestSlice test_slice(NodeId node, int nodes, std::size_t samples) {
  const auto start_of = [&](int k) {
    return samples * static_cast<std::size_t>(k) / static_cast<std::size_t>(nodes);
  };
  return {start_of(node.value), start_of(node.value + 1)};
}

TestResult evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                         std::size_t idle, const Tested& tested) {
  const Message mean_buffers = mean_over_nodes(channel, learner.buffers(), idle);
  const LentModel model{mean, mean_buffers.as<float>()};
  const TestSlice mine = test_slice(channel.me(), channel.size(), data.size());
  ClassScores classes(data);
  const Score score =
      evaluate_range(channel.endpoint, learner, data, mine.from, mine.to, tested, &model, &classes);
  return joined_result(channel, data, score, std::move(classes));
}

}  // namespace veche
