#include "veche/train/mixer.h"

#include <algorithm>

#include "veche/base/vector_math.h"

namespace veche {

void Mixer::mix(const Mixing& mixing, std::span<const std::span<float>> vectors, const Active& active) {
  const int me = channel_.me().value;
  const auto mixes = [&](int node) { return !active || active(node); };
  if (!mixes(me) && !std::ranges::any_of(mixing.readers(me), mixes)) return;

  // Neighbours read this copy in place while the vectors themselves are being overwritten.
  std::size_t length = 0;
  for (const auto& vector : vectors) length += vector.size();
  Message mine = channel_.pool.make(length * sizeof(float));
  auto end = mine.writable<float>().begin();
  for (const auto& vector : vectors) end = std::ranges::copy(vector, end).out;
  mix(mixing, std::move(mine), vectors, active);
}

void Mixer::mix(const Mixing& mixing, Message mine, std::span<const std::span<float>> vectors,
                const Active& active) {
  const int me = channel_.me().value;
  const auto mixes = [&](int node) { return !active || active(node); };
  for (const int reader : mixing.readers(me))
    if (mixes(reader)) channel_.send(NodeId{reader}, mine);
  if (!mixes(me)) return;

  weights_.clear();
  for (const Weight& weight : mixing.row(me)) {
    messages_.push_back(weight.node == me ? mine : channel_.expect(NodeId{weight.node}));
    weights_.push_back(static_cast<float>(weight.value));
  }
  std::size_t from = 0;
  for (const auto& vector : vectors) {
    inputs_.clear();
    for (const Message& message : messages_)
      inputs_.push_back(message.as<float>().subspan(from, vector.size()));
    weighted_sum(vector, inputs_, weights_);
    from += vector.size();
  }
  messages_.clear();
}

}  // namespace veche
