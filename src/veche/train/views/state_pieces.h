#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/train/views/node_self.h"

namespace veche {

// A node's state as pieces that others can fetch: parameters, buffers, the optimiser's vectors and what the
// strategy has in common, each cut into pieces of a megabyte.
struct StateManifest {
  std::vector<std::uint64_t> lengths;  // of the vectors, in floats
  std::vector<std::uint64_t> hashes;   // of the pieces
};

class StatePieces {
 public:
  explicit StatePieces(NodeSelf& self);

  StateManifest manifest() const;
  std::size_t count() const { return pieces_.size(); }
  std::span<std::byte> operator[](std::size_t piece) const { return pieces_[piece]; }
  std::uint64_t hash(std::size_t piece) const;

 private:
  std::vector<std::span<float>> vectors_;
  std::vector<std::span<std::byte>> pieces_;
};

// Makes room for a state of these lengths; throws RunError where it is of another model.
void fit_state(NodeSelf& self, const std::vector<std::uint64_t>& lengths);

// Of what must be the same on all nodes whose models are equal: all but buffers, which are each node's own
// statistics. Never 0.
std::uint64_t state_hash(NodeSelf& self);

}  // namespace veche
