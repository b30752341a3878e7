#pragma once

#include <functional>
#include <span>
#include <vector>

#include "veche/comm/channel.h"
#include "veche/graph/mixing.h"

namespace veche {

// One mixing round: several vectors of a node, sent as one message, become the weighted sums of the
// neighbours'.
class Mixer {
 public:
  explicit Mixer(Channel& channel) : channel_(channel) {}

  // Not everybody mixes in every round: those who do need the others' vectors all the same.
  using Active = std::function<bool(int node)>;
  void mix(const Mixing& mixing, std::span<const std::span<float>> vectors, const Active& active = {});
  // The same when this node's vectors already stand in a message, one after the other, and are not needed any
  // more.
  void mix(const Mixing& mixing, Message mine, std::span<const std::span<float>> vectors,
           const Active& active = {});

 private:
  Channel& channel_;
  // Scratch, kept between rounds so that mixing allocates nothing.
  std::vector<Message> messages_;
  std::vector<std::span<const float>> inputs_;
  std::vector<float> weights_;
};

}  // namespace veche
