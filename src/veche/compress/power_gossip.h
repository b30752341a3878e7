#pragma once

#include "veche/compress/codec.h"

namespace veche {

// One end of an edge that two nodes average over by power iterations on the difference D of their matrices
// (Vogels et al. 2020): in even rounds both tell X p, p of unit length, which makes D p; both move along D p
// p'. In odd rounds they do so from the other side, with D p in the place of p. What is no matrix, or would
// not shrink, travels as it is. Needs no memory of errors: what was not told is still the difference.
//
//   Message mine = edge.encode(x, round, pool);            // for every edge of the node, of the same x
//   edge.move(theirs.bytes(), weight, x);                  // then for every edge; weight 1/2 meets half-way
//
// Both ends are made from the same rank and shape (shape.sender: the edge's number, the same at both ends)
// and take part in the same rounds; one of them is `first`. The mean of the two stays, to rounding.
class PowerGossip {
 public:
  PowerGossip(int rank, const StreamShape& shape, bool first);
  ~PowerGossip();
  PowerGossip(PowerGossip&&) noexcept;

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool);
  // x += weight * (the other's - mine), as far as this round tells. Once after each encode; throws
  // DamagedCode before anything is changed.
  void move(std::span<const std::byte> theirs, float weight, std::span<float> x);
  std::size_t code_bytes(std::uint64_t round) const;
  SavedState state();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace veche
