#include "veche/train/mixer.h"

#include <algorithm>

#include "veche/base/vector_math.h"

namespace veche {

// Every node comes to the same answer, without asking the others.
bool Mixer::together(const Mixing& mixing, std::size_t length, const Active& active) {
  if (!steady_ || channel_.endpoint.native() == nullptr) return false;
  for (int node = 0; active && node < mixing.nodes(); ++node)
    if (!active(node)) return false;
  if (!asked_) {
    asked_ = true;
    length_ = length;
    const int me = channel_.me().value;
    std::vector<NodeId> sources, readers;
    for (const Weight& weight : mixing.row(me))
      if (weight.node != me) sources.push_back(NodeId{weight.node});
    for (const int reader : mixing.readers(me)) readers.push_back(NodeId{reader});
    neighbours_ = channel_.endpoint.native()->neighbourhood(sources, readers, length);
  }
  return neighbours_ != nullptr && length == length_;
}

std::span<float> Mixer::room(const Mixing& mixing, std::size_t length, const Active& active) {
  filled_ = true;
  if (together(mixing, length, active)) return neighbours_->mine();
  mine_ = channel_.pool.make(length * sizeof(float));
  return mine_->writable<float>();
}

void Mixer::mix(const Mixing& mixing, std::span<const std::span<float>> vectors, const Active& active) {
  const int me = channel_.me().value;
  const auto mixes = [&](int node) { return !active || active(node); };
  if (!mixes(me) && !std::ranges::any_of(mixing.readers(me), mixes)) return;

  if (!filled_) {
    // Neighbours read this copy while the vectors themselves are being overwritten.
    std::size_t length = 0;
    for (const auto& vector : vectors) length += vector.size();
    auto end = room(mixing, length, active).begin();
    for (const auto& vector : vectors) end = std::ranges::copy(vector, end).out;
  }
  filled_ = false;

  whole_.clear();
  if (!mine_) {
    exchange(channel_, *neighbours_);
    std::size_t source = 0;
    for (const Weight& weight : mixing.row(me))
      whole_.push_back(weight.node == me ? neighbours_->mine() : neighbours_->from(source++));
    return sum(mixing, vectors);
  }

  const Message mine = *std::exchange(mine_, std::nullopt);
  for (const int reader : mixing.readers(me))
    if (mixes(reader)) channel_.send(NodeId{reader}, mine);
  if (!mixes(me)) return;
  for (const Weight& weight : mixing.row(me)) {
    messages_.push_back(weight.node == me ? mine : channel_.expect(NodeId{weight.node}));
    whole_.push_back(messages_.back().as<float>());
  }
  sum(mixing, vectors);
  messages_.clear();
}

void Mixer::sum(const Mixing& mixing, std::span<const std::span<float>> vectors) {
  weights_.clear();
  for (const Weight& weight : mixing.row(channel_.me().value))
    weights_.push_back(static_cast<float>(weight.value));
  std::size_t from = 0;
  for (const auto& vector : vectors) {
    inputs_.clear();
    for (const auto& input : whole_) inputs_.push_back(input.subspan(from, vector.size()));
    weighted_sum(vector, inputs_, weights_);
    from += vector.size();
  }
}

}  // namespace veche
