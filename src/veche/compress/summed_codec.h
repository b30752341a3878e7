#pragma once

#include <memory>

#include "veche/compress/codec.h"

namespace veche {

// A codec whose codes are vectors of floats that may be summed over the nodes by any all-reduce, one or more
// of them in a round:
//
//   for (std::size_t k = 0; k < codec.phases(); ++k) all_reduce(codec.phase(k, gradient, round));
//   codec.finish(1.0F / nodes, gradient);
//
// The nodes' instances are made from the same shape and see the same sums, to the bit. With shape.feedback
// each keeps what its own vector had more than what was told. One thread at a time.
class SummedCodec {
 public:
  virtual ~SummedCodec() = default;

  virtual std::size_t phases() const = 0;
  // What this node gives to the sum of phase k, in whose place the caller puts the sum over all nodes before
  // the next call. x stays the same through the phases of a round. Stays valid until finish() returns.
  virtual std::span<float> phase(std::size_t k, std::span<const float> x, std::uint64_t round) = 0;
  // out = weight * the sum over the nodes, as far as the code tells of it. May be x itself.
  virtual void finish(float weight, std::span<float> out) = 0;
  virtual SavedState state() = 0;
  virtual double remembered_norm() const = 0;
};

// For specs whose sum() is `phases`: randomk and powersgd.
std::unique_ptr<SummedCodec> make_summed_codec(const CodecSpec& spec, StreamShape shape);

}  // namespace veche
