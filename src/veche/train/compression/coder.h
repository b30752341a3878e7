#pragma once

#include <memory>
#include <span>

#include "veche/compress/codec.h"
#include "veche/strategy.h"
#include "veche/train/compression/compression.h"

namespace veche {

// A node's side of [compress]: what its strategy makes codecs with, and what counts and times them. A
// strategy that was given no compression has one that is off and does nothing else. The node and its helpers
// may call it at the same time.
class Coder {
 public:
  explicit Coder(const StrategyContext& context);

  bool on() const { return compression_ != nullptr; }
  // Whether what follows step `step` is coded: it is on, and compress.start is over.
  bool codes(std::uint64_t step) const { return on() && step >= compression_->first_step; }
  // Of one that is on.
  const Compression& how() const { return *compression_; }

  // A stream of vectors like [from, from + length) of the learner's. With `copies`, both ends keep what was
  // told; else the codec remembers what it left out, unless told not to. `among` so many nodes.
  StreamShape shape(std::size_t from, std::size_t length, bool copies, std::size_t among) const;
  StreamShape whole(bool copies) const { return shape(0, length_, copies, nodes_); }

  // Does it and counts the time that it took.
  template <class Work>
  auto timed(Work work) {
    struct Stopwatch {
      Coder& coder;
      const Time start = coder.endpoint_.now();
      ~Stopwatch() { coder.count(coder.endpoint_.now() - start); }
    } const stopwatch{*this};
    return work();
  }
  // What was sent, and what it would have been as floats.
  void count(std::size_t plain_bytes, std::size_t coded_bytes);

  Coding counted() const;
  // Of one whose node has no helpers, who would go on counting meanwhile.
  void add_state(SavedState& state);

 private:
  void count(Time spent);

  const Compression* const compression_;
  Endpoint& endpoint_;
  const std::uint64_t seed_, me_;
  const std::size_t nodes_, length_;
  std::vector<TensorLayout> layout_;
  // Changed by relaxed atomic operations only.
  std::uint64_t plain_bytes_ = 0, coded_bytes_ = 0, nanoseconds_ = 0;
};

// A codec, the vector after vector that it codes, and their number.
class CodedStream {
 public:
  CodedStream(Coder& coder, StreamShape shape, Channel& channel);

  Message encode(std::span<const float> x);
  // into += weight * what `from` told in a stream of the same shape. Throws RunError naming it.
  void add(NodeId from, const Message& code, float weight, std::span<float> into);
  void add_state(SavedState& state);
  double remembered_squared() const;

 private:
  Coder& coder_;
  Channel& channel_;
  std::unique_ptr<Codec> codec_;
  std::uint64_t round_ = 0;
};

// Appends what `more` keeps.
void append(SavedState& state, SavedState more);

}  // namespace veche
