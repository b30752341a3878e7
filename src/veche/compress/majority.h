#pragma once

#include "veche/compress/codec.h"

namespace veche {

// Majority vote over `sign` codes of several nodes for streams of one shape: the mean of the nodes'
// scales times the sign that most nodes have (zero in a tie). Small tensors are averaged.
class MajorityVote {
 public:
  MajorityVote(const CodecSpec& spec, const StreamShape& shape);
  ~MajorityVote();

  // Adds one node's vote. Throws DamagedCode without counting it.
  void add(std::span<const std::byte> code);
  // The result of all votes added, at least one. Starts the next vote.
  void finish(std::span<float> out);

 private:
  struct Parts;
  const bool zstd_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace veche
