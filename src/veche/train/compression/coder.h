#pragma once

#include <memory>
#include <span>

#include "veche/compress/codec.h"
#include "veche/strategy.h"
#include "veche/train/compression/compression.h"

namespace veche {

// A node's side of [compress]: makes the codecs of its strategy, and counts and times them. In a
// run without a codec it is off. The node and its helpers may call it at the same time.
class Coder {
 public:
  explicit Coder(const StrategyContext& context);

  bool on() const { return compression_ != nullptr; }
  // Whether the exchange after this step is coded: it is on, and compress.start has passed.
  bool codes(std::uint64_t step) const { return on() && step >= compression_->first_step; }
  // Only where it is on.
  const Compression& how() const { return *compression_; }

  // A stream of vectors like parameters()[from, from + length), sent among a number of nodes. With
  // `copies`, both ends keep copies of the vector; otherwise the codec remembers what it left out
  // (compress.error_feedback).
  StreamShape shape(std::size_t from, std::size_t length, bool copies, std::size_t among) const;
  StreamShape whole(bool copies) const { return shape(0, length_, copies, nodes_); }

  // Runs `work` and counts its time.
  template <class Work>
  auto timed(Work work) {
    struct Stopwatch {
      Coder& coder;
      const Time start = coder.endpoint_.now();
      ~Stopwatch() { coder.count(coder.endpoint_.now() - start); }
    } const stopwatch{*this};
    return work();
  }
  // The bytes that were sent, and that floats would have taken.
  void count(std::size_t plain_bytes, std::size_t coded_bytes);

  Coding counted() const;
  // Only where the node has no helpers, which would go on counting meanwhile.
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

// A codec for a sequence of vectors, with the number of vectors so far.
class CodedStream {
 public:
  CodedStream(Coder& coder, StreamShape shape, Channel& channel);

  Message encode(std::span<const float> x);
  // into += weight * the vector that `from` encoded in a stream of the same shape. Throws RunError
  // that names the node when the code is damaged.
  void add(NodeId from, const Message& code, float weight, std::span<float> into);
  void add_state(SavedState& state);
  double remembered_squared() const;

 private:
  Coder& coder_;
  Channel& channel_;
  std::unique_ptr<Codec> codec_;
  std::uint64_t round_ = 0;
};

// Appends `more`.
void append(SavedState& state, SavedState more);

}  // namespace veche
