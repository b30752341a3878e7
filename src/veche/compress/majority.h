#pragma once

#include "veche/compress/codec.h"

namespace veche {

// Majority vote over codes of `sign` that several nodes made of streams of one shape: the mean of the nodes'
// scales, times the sign that most nodes have there (nothing where as many have the other). Small tensors are
// averaged.
class MajorityVote {
 public:
  MajorityVote(const CodecSpec& spec, const StreamShape& shape);
  ~MajorityVote();

  // One node's vote. Throws DamagedCode and counts nothing then.
  void add(std::span<const std::byte> code);
  // Of all that were added, at least one; the next vote begins.
  void finish(std::span<float> out);

 private:
  struct Parts;
  const bool zstd_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace veche
