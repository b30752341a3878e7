#pragma once

#include <memory>

#include "veche/compress/codec.h"

namespace veche {

// A codec whose codes are vectors of floats that any all-reduce can sum over nodes, in one or more
// phases per round:
//
//   for (std::size_t k = 0; k < codec.phases(); ++k) all_reduce(codec.phase(k, gradient, round));
//   codec.finish(1.0F / nodes, gradient);
//
// All nodes' instances are made with the same shape and receive the same sums, to the bit. With
// shape.feedback each instance keeps the difference between its own vector and what was sent. One
// thread at a time.
class SummedCodec {
 public:
  virtual ~SummedCodec() = default;

  virtual std::size_t phases() const = 0;
  // This node's contribution to the sum of phase k. The caller replaces it by the sum over all
  // nodes before the next call. x stays the same in all phases of a round. The span is valid until
  // finish() returns.
  virtual std::span<float> phase(std::size_t k, std::span<const float> x, std::uint64_t round) = 0;
  // out = weight * the decoded sum over nodes. `out` may be x.
  virtual void finish(float weight, std::span<float> out) = 0;
  virtual SavedState state() = 0;
  virtual double remembered_norm() const = 0;
};

// For specs whose sum() is `phases`: randomk and powersgd.
std::unique_ptr<SummedCodec> make_summed_codec(const CodecSpec& spec, StreamShape shape);

}  // namespace veche
