#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "veche/comm/neighbourhood.h"
#include "veche/graph/mixing.h"

namespace veche {

// One mixing round: several vectors of a node, sent as one message, become the weighted sums of the
// neighbours'.
class Mixer {
 public:
  // `steady`: the neighbours are the same in every round. Where all nodes mix and the engine knows better
  // than messages how to exchange with them, it is let do so.
  Mixer(Channel& channel, bool steady) : channel_(channel), steady_(steady) {}

  // Not everybody mixes in every round: those who do need the others' vectors all the same.
  using Active = std::function<bool(int node)>;

  // Where this node's vectors for the coming round may be written, one after the other, so many floats: what
  // they are sent from. `mix` then copies nothing.
  std::span<float> room(const Mixing& mixing, std::size_t length, const Active& active = {});
  void mix(const Mixing& mixing, std::span<const std::span<float>> vectors, const Active& active = {});

 private:
  bool together(const Mixing& mixing, std::size_t length, const Active& active);
  void sum(const Mixing& mixing, std::span<const std::span<float>> vectors);

  Channel& channel_;
  const bool steady_;
  std::unique_ptr<Neighbourhood> neighbours_;
  bool asked_ = false;           // for neighbours_, which may not be had
  std::size_t length_ = 0;       // that they were made for
  std::optional<Message> mine_;  // of the coming round, where messages are sent
  bool filled_ = false;          // the vectors of the coming round are written already
  // Scratch, kept between rounds so that mixing allocates nothing.
  std::vector<Message> messages_;
  std::vector<std::span<const float>> whole_, inputs_;
  std::vector<float> weights_;
};

}  // namespace veche
