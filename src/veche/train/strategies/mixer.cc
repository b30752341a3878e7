#include "veche/train/strategies/mixer.h"

#include <algorithm>

#include "veche/vector_math.h"

namespace veche {

// Every node computes the same answer without messages.
bool Mixer::in_place(const Mixing& mixing, std::size_t length, const Active& active) {
  if (!steady_ || channel_.endpoint.collectives() == nullptr || (asked_ && neighbours_ == nullptr))
    return false;
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
    neighbours_ = channel_.endpoint.collectives()->neighbourhood(sources, readers, length);
  }
  return neighbours_ != nullptr && length == length_;
}

Mixer::Round::Round(Mixer& mixer, const Mixing& mixing, std::size_t length, Active active)
    : mixer_(mixer),
      mixing_(mixing),
      active_(std::move(active)),
      in_place_(mixer.in_place(mixing, length, active_)) {
  if (!in_place_) message_ = mixer_.channel_.pool.make(length * sizeof(float));
}

void Mixer::Round::finish(std::span<const std::span<float>> vectors) {
  finish([&](std::span<const std::span<const float>>) { mixer_.sum(mixing_, vectors); });
}

void Mixer::Round::finish(const std::function<void(std::span<const std::span<const float>>)>& use) {
  Channel& channel = mixer_.channel_;
  const int me = channel.me().value;
  mixer_.whole_.clear();
  if (in_place_) {
    exchange(channel, *mixer_.neighbours_);
    std::size_t source = 0;
    for (const Weight& weight : mixing_.row(me))
      mixer_.whole_.push_back(weight.node == me ? mixer_.neighbours_->mine()
                                                : mixer_.neighbours_->from(source++));
    return use(mixer_.whole_);
  }
  for (const int reader : mixing_.readers(me))
    if (mixes(reader)) channel.send(NodeId{reader}, message_);
  if (!mixes(me)) return;
  for (const Weight& weight : mixing_.row(me)) {
    mixer_.messages_.push_back(weight.node == me ? message_
                                                 : channel.expect(NodeId{weight.node}, message_.size()));
    mixer_.whole_.push_back(mixer_.messages_.back().as<float>());
  }
  use(mixer_.whole_);
  mixer_.messages_.clear();
}

void Mixer::mix(const Mixing& mixing, std::span<const std::span<float>> vectors, const Active& active) {
  const int me = channel_.me().value;
  const auto mixes = [&](int node) { return !active || active(node); };
  if (!mixes(me) && !std::ranges::any_of(mixing.readers(me), mixes)) return;
  // Neighbours read this copy while the vectors themselves are being overwritten.
  std::size_t length = 0;
  for (const auto& vector : vectors) length += vector.size();
  Round round = begin(mixing, length, active);
  auto end = round.mine().begin();
  for (const auto& vector : vectors) end = std::ranges::copy(vector, end).out;
  round.finish(vectors);
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
