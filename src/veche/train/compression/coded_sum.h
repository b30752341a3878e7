#pragma once

#include <memory>
#include <optional>

#include "veche/comm/allreduce/allreduce.h"
#include "veche/compress/half.h"
#include "veche/compress/majority.h"
#include "veche/compress/summed_codec.h"
#include "veche/train/compression/coder.h"

namespace veche {

// Floats of a sum as two bytes each.
class HalfWire : public Wire {
 public:
  HalfWire(Coder& coder, Channel& channel)
      : coder_(coder), channel_(channel), format_(half_format(coder.how().spec)) {}

  Message write(std::span<const float> data) override;
  void add(std::span<float> into, const Message& message, NodeId from) override;
  void read(std::span<float> into, const Message& message, NodeId from) override;
  void check(std::size_t floats, const Message& message, NodeId from) const override;

  // x becomes the halves of x + memory, and the memory the rounding error. An empty memory keeps
  // nothing.
  void remember(std::span<float> x, std::span<float> memory);

 private:
  std::span<const std::uint16_t> halves(const Message& message, std::size_t length, NodeId from) const;

  Coder& coder_;
  Channel& channel_;
  const HalfFormat format_;
  std::vector<std::uint16_t> scratch_;
};

// The algorithm for sums of halves where "auto" chooses. It must not depend on the engine, since
// the rounding on the way does. The ring: on slow links, which halves are for, several senders to
// one reader cost a third of the speed.
AllReduceAlgorithm half_algorithm(AllReduceAlgorithm asked);

// Sums over all nodes of a channel in coded form. Codes that can be summed go through the
// all-reduce; others are gathered and added in the order of nodes. All nodes get the same bits.
class CodedSum {
 public:
  CodedSum(Coder& coder, Channel channel, const StreamShape& shape, AllReduceAlgorithm algorithm);

  // x <- the sum of all nodes' x. Throws PeerLost, as all_reduce does.
  void sum(std::span<float> x);
  // The wire of codes that can be summed on their way, for a caller that does so itself; otherwise
  // null.
  HalfWire* wire() { return wire_ ? &*wire_ : nullptr; }
  std::span<float> memory() { return memory_; }  // error feedback of that wire; empty: none
  // Such a caller reports a sum of this many floats, and the bytes that the channel had sent before
  // it.
  void count_since(std::uint64_t sent_before, std::size_t floats);

  void add_state(SavedState& state);
  double remembered_squared() const;

 private:
  void sum_gathered(std::span<float> x);
  void sum_phases(std::span<float> x);
  void sum_halves(std::span<float> x);

  Coder& coder_;
  Channel channel_;
  const AllReduceAlgorithm algorithm_;
  std::optional<CodedStream> stream_;  // codes that are gathered
  std::optional<MajorityVote> vote_;   // and voted on
  std::unique_ptr<SummedCodec> summed_;
  std::uint64_t round_ = 0;  // of summed_
  std::optional<HalfWire> wire_;
  std::vector<float> memory_;
};

}  // namespace veche
