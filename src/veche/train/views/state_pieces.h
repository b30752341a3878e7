#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "veche/train/views/member_state.h"

namespace veche {

// A node's state as pieces that others can fetch: parameters, buffers, the optimizer's vectors and
// the strategy's common state, each cut into pieces of a megabyte.
struct StateManifest {
  std::uint64_t step = 0;              // steps made before
  std::vector<std::uint64_t> lengths;  // of the vectors, in floats
  std::vector<std::uint64_t> hashes;   // of the pieces

  std::vector<std::uint64_t> coded() const;
  static std::optional<StateManifest> of(std::span<const std::byte> code);  // nothing if damaged
};

// Vectors cut into pieces, in place.
class StateCut {
 public:
  explicit StateCut(const std::vector<std::span<const float>>& vectors);
  explicit StateCut(const std::vector<std::vector<float>>& vectors);

  StateManifest manifest(std::uint64_t step) const;
  std::vector<std::uint64_t> hashes() const;
  std::size_t count() const { return pieces_.size(); }
  std::span<const std::byte> operator[](std::size_t piece) const { return pieces_[piece]; }

 private:
  void cut(std::span<const float> vector);

  std::vector<std::uint64_t> lengths_;
  std::vector<std::span<const std::byte>> pieces_;
};

// The pieces of a node's state.
class StatePieces {
 public:
  explicit StatePieces(MemberState& self);

  const StateCut& cut() const { return cut_; }
  std::size_t count() const { return cut_.count(); }
  std::span<const std::byte> operator[](std::size_t piece) const { return cut_[piece]; }
  void put(std::size_t piece, std::span<const std::byte> content) const;
  const std::vector<std::span<float>>& vectors() const { return vectors_; }

 private:
  const std::vector<std::span<float>> vectors_;
  const StateCut cut_;
};

// Makes room for a state of these lengths; throws RunError if it is of another model.
void fit_state(MemberState& self, const std::vector<std::uint64_t>& lengths);

// What a step changes: the parameters and the strategy's common state.
std::vector<std::span<float>> shared_vectors(MemberState& self);
std::size_t bytes_in(std::span<const std::span<float>> vectors);

// The hash of what must be equal on all nodes: the strategy's common state or, if there is none,
// the model and the optimizer's state, but not the buffers, which are each node's own statistics.
// Never 0.
std::uint64_t state_hash(MemberState& self);

}  // namespace veche
