#pragma once

#include <functional>
#include <optional>
#include <span>

#include "veche/topology.h"
#include "veche/train/compression/copies.h"
#include "veche/train/compression/power_edges.h"

namespace veche {

// Mixing rounds along a topology in coded form, as Mixer does with floats. One mixer per vector.
class CodedMixer {
 public:
  CodedMixer(Coder& coder, Channel& channel, const Topology& topology);

  using Active = std::function<bool(int node)>;

  // All nodes call it together before the first round.
  void start(std::span<const float> x);
  // x <- x + gamma sum_j w_ij (x^_j - x^_i) where this node is active. With `floats`, before
  // compress.start, and only in a mixer that keeps copies: x <- sum_j w_ij x_j.
  void mix(const Mixing& mixing, std::span<float> x, bool floats, const Active& active = {});

  // powergossip keeps no copies.
  bool keeps_copies() const { return copies_.has_value(); }

  void add_state(SavedState& state);
  double remembered_squared(std::span<const float> x) const;

 private:
  void exchange(const Mixing& mixing, std::span<const float> x, bool floats, const Active& active);
  void take_floats(std::span<const Weight> row, std::span<float> x);
  void go_towards(const Mixing& mixing, std::span<float> x);
  void mix_by_power(const Mixing& mixing, std::span<float> x);

  Coder& coder_;
  Channel& channel_;
  const bool fixed_;  // the neighbours are the same in every round
  std::optional<Copies> copies_;
  std::optional<PowerEdges> edges_;  // instead of copies
  std::vector<Pull> pulls_;
};

// Whether in every round all edges go both ways, with the same weight.
bool is_symmetric(const Topology& topology);

}  // namespace veche
