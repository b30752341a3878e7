#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "veche/comm/neighbourhood.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

// Mixing rounds: several vectors of a node, sent as one message, become the weighted sums of the
// neighbours'.
class Mixer {
 public:
  // `steady`: the neighbours are the same in every round. Where all nodes mix and the engine has a
  // faster exchange than messages, it is used.
  Mixer(Channel& channel, bool steady) : channel_(channel), steady_(steady) {}

  // Not every node mixes in every round; those that do need the vectors of the others as well.
  using Active = std::function<bool(int node)>;

  // A round under way. The caller writes the vectors to be sent into `mine`, one after the other,
  // so that nothing is copied; then `finish` turns the vectors into the weighted sums.
  class Round {
   public:
    std::span<float> mine() { return in_place_ ? mixer_.neighbours_->mine() : message_.writable<float>(); }
    void finish(std::span<const std::span<float>> vectors);
    // The same with another rule than the weighted sum: `use` gets the vectors sent by the nodes of
    // this node's row, in the order of the row, its own included. Not called where this node does
    // not mix.
    void finish(const std::function<void(std::span<const std::span<const float>> sent)>& use);

   private:
    friend class Mixer;
    Round(Mixer& mixer, const Mixing& mixing, std::size_t length, Active active);
    bool mixes(int node) const { return !active_ || active_(node); }

    Mixer& mixer_;
    const Mixing& mixing_;
    const Active active_;
    const bool in_place_;  // in the engine's own memory
    Message message_;      // otherwise
  };
  // `length`: floats in all. `mixing` outlives the round. One round at a time.
  Round begin(const Mixing& mixing, std::size_t length, Active active = {}) {
    return {*this, mixing, length, std::move(active)};
  }
  // A whole round, which copies the vectors.
  void mix(const Mixing& mixing, std::span<const std::span<float>> vectors, const Active& active = {});

 private:
  bool in_place(const Mixing& mixing, std::size_t length, const Active& active);
  void sum(const Mixing& mixing, std::span<const std::span<float>> vectors);

  Channel& channel_;
  const bool steady_;
  std::unique_ptr<Neighbourhood> neighbours_;
  bool asked_ = false;      // whether neighbours_ was requested; the engine may have none
  std::size_t length_ = 0;  // the vector length of neighbours_
  // Scratch, kept between rounds so that mixing allocates nothing.
  std::vector<Message> messages_;
  std::vector<std::span<const float>> whole_, inputs_;
  std::vector<float> weights_;
};

}  // namespace veche
