#include "veche/train/measure/class_scores.h"

#include <algorithm>

#include "veche/comm/broadcast.h"
#include "veche/packed.h"

namespace veche {
namespace {

// Followed by the sums of the classes, then by the margins.
struct Sizes {
  std::uint64_t positive = 0, negative = 0, untold = 0;
};

template <class T>
std::span<const T> taken(std::span<const std::byte>& bytes, std::size_t count) {
  const std::span<const std::byte> items = bytes.first(count * sizeof(T));
  bytes = bytes.subspan(items.size());
  return {reinterpret_cast<const T*>(items.data()), count};
}

}  // namespace

double area_under_curve(std::vector<float>& positive, std::vector<float>& negative) {
  if (positive.empty() || negative.empty()) return 0.5;
  std::ranges::sort(positive);
  std::ranges::sort(negative);
  double pairs = 0;
  auto below = negative.begin(), not_above = negative.begin();
  for (const float score : positive) {
    while (below != negative.end() && *below < score) ++below;
    while (not_above != negative.end() && *not_above <= score) ++not_above;
    pairs += static_cast<double>(below - negative.begin()) + 0.5 * static_cast<double>(not_above - below);
  }
  return pairs / (static_cast<double>(positive.size()) * static_cast<double>(negative.size()));
}

ClassScores::ClassScores(const Dataset& data) {
  const int classes = data.classes();
  if (data.task() == Task::classification && classes >= 2 && classes <= kMostClasses)
    classes_.resize(static_cast<std::size_t>(classes));
}

void ClassScores::add(const Batch& batch, std::span<const Outcome> outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!batch.weights.empty() && batch.weights[i] == 0) continue;
    const Outcome& outcome = outcomes[i];
    if (!outcome.is_told()) {
      ++untold_;
      continue;
    }
    ClassScore& of_class = classes_.at(static_cast<std::size_t>(batch.labels[i]));
    of_class.loss_sum += static_cast<double>(outcome.loss);
    of_class.correct += outcome.correct ? 1 : 0;
    ++of_class.count;
    if (classes_.size() == 2) (batch.labels[i] == 1 ? positive_ : negative_).push_back(outcome.margin);
  }
}

void ClassScores::complete(TestResult& result) && {
  if (untold_ > 0) return;
  if (classes_.size() == 2) result.auc = area_under_curve(positive_, negative_);
  result.classes = std::move(classes_);
}

void ClassScores::gather(Channel& channel) {
  const std::size_t each = classes_.size() * sizeof(ClassScore);
  for (int node = 1; node < channel.size(); ++node) {
    const Message message = channel.expect(NodeId{node});
    const NodeId from = channel.endpoint.known_as(NodeId{node});
    auto [sizes, left] = unpack<Sizes>(message, from, "the scores of classes");
    if (sizes.positive > left.size() || sizes.negative > left.size() ||
        left.size() != each + (sizes.positive + sizes.negative) * sizeof(float))
      throw BadMessage(from, message.size(), "the scores of classes");
    const auto classes = taken<ClassScore>(left, classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      classes_[i].loss_sum += classes[i].loss_sum;
      classes_[i].correct += classes[i].correct;
      classes_[i].count += classes[i].count;
    }
    untold_ += sizes.untold;
    std::ranges::copy(taken<float>(left, sizes.positive), std::back_inserter(positive_));
    std::ranges::copy(taken<float>(left, sizes.negative), std::back_inserter(negative_));
  }
}

// Node 0 adds up and tells all.
void ClassScores::complete(Channel& channel, TestResult& result) && {
  if (!collects()) return;
  struct Told {
    std::uint64_t untold = 0;
    double auc = 0;
  };
  const std::size_t count = classes_.size(), bytes = sizeof(Told) + count * sizeof(ClassScore);
  if (channel.me().value == 0) {
    gather(channel);
    Told told{.untold = untold_};
    const std::vector<ClassScore> classes = classes_;
    std::move(*this).complete(result);
    told.auc = result.auc.value_or(0);
    broadcast(channel, NodeId{0}, pack(channel.pool, told, std::as_bytes(std::span(classes))), bytes);
    return;
  }
  channel.send(NodeId{0}, pack_bytes(channel.pool,
                                     {bytes_of(Sizes{positive_.size(), negative_.size(), untold_}),
                                      std::as_bytes(std::span(classes_)), std::as_bytes(std::span(positive_)),
                                      std::as_bytes(std::span(negative_))}));
  const Message all = broadcast(channel, NodeId{0}, Message{}, bytes);
  auto [told, left] = unpack<Told>(all, channel.endpoint.known_as(NodeId{0}), "the scores of classes");
  if (told.untold > 0) return;
  if (count == 2) result.auc = told.auc;
  const auto classes = taken<ClassScore>(left, count);
  result.classes.assign(classes.begin(), classes.end());
}

}  // namespace veche
