#pragma once

#include "veche/compress/codec.h"

namespace veche {

// One end of an edge over which two nodes average, by power iterations on the difference D of their
// matrices (Vogels et al. 2020). In even rounds both send X p, with p of unit length, which gives D
// p; both move along D p p'. Odd rounds do the same from the other side, with D p in place of p.
// Vectors, and matrices that would not shrink, are sent uncompressed. Error feedback is not needed:
// what was not sent remains in the difference.
//
//   Message mine = edge.encode(x, round, pool);  // for every edge of the node, with the same x
//   edge.move(theirs.bytes(), weight, x);        // then for every edge; 1/2 meets half-way
//
// Both ends are made with the same rank and shape (shape.sender is the number of the edge) and take
// part in the same rounds; one of them is `first`. The mean of the two is preserved, to rounding.
class PowerGossip {
 public:
  PowerGossip(int rank, const StreamShape& shape, bool first);
  ~PowerGossip();
  PowerGossip(PowerGossip&&) noexcept;

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool);
  // x += weight * (theirs - mine), as far as this round's codes describe it. Called once after each
  // encode. Throws DamagedCode before changing anything.
  void move(std::span<const std::byte> theirs, float weight, std::span<float> x);
  std::size_t code_bytes(std::uint64_t round) const;
  SavedState state();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace veche
