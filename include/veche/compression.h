#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/coding.h"
#include "veche/collectives.h"
#include "veche/export.h"
#include "veche/saved_state.h"
#include "veche/strategy_context.h"

namespace veche {

class Coder;
class CodedSum;
class CodedStream;
class Copies;

// A node's side of the [compress] section: a strategy makes one from its context and passes it to
// the exchanges below. It counts and times the coding. Without a codec it is off, and the strategy
// sends floats. The node and its helpers may call it at the same time; an exchange belongs to one
// of them.
class VECHE_API Compressor {
 public:
  explicit Compressor(const StrategyContext& context);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  bool on() const;
  // Whether the exchange after this step is compressed: it is on, and compress.start has passed.
  bool codes(std::uint64_t step) const;
  // The step size of CHOCO (compress.gamma); 1 where it is off.
  double gamma() const;

  // For MeasuredStrategy::coding: bytes and seconds. Add the `remembered_squared` of the exchanges.
  Coding coding() const;
  // For Strategy::state, in strategies without helpers.
  void add_state(SavedState& state);

  Coder& coder() { return *coder_; }  // for the exchanges below

 private:
  const std::unique_ptr<Coder> coder_;
};

// Sums of a vector as long as the parameters over all nodes of a channel, such as of gradients. All
// nodes get the same bits. A node remembers what its codes leave out (compress.error_feedback).
// Throws PeerLost.
class VECHE_API CompressedSum {
 public:
  // Of a compressor that is on.
  CompressedSum(Compressor& compressor, Channel channel);  // by the ring
  CompressedSum(Compressor& compressor, Channel channel, AllReduceAlgorithm algorithm);
  ~CompressedSum();

  void sum(std::span<float> x);
  void add_state(SavedState& state);
  double remembered_squared() const;

 private:
  const std::unique_ptr<CodedSum> sum_;
};

// Vectors like parameters()[from, from + length) that one node sends again and again to others.
// With Memory::codec it remembers what a code leaves out (compress.error_feedback) and adds it to
// the next; with Memory::caller the caller does.
class VECHE_API CompressedStream {
 public:
  enum class Memory { codec, caller };
  // Of a compressor that is on. The channel outlives it.
  CompressedStream(Compressor& compressor, Channel& channel, std::size_t from, std::size_t length,
                   Memory memory);
  ~CompressedStream();

  Message encode(std::span<const float> x);
  // into += weight * the vector in `code`, which `from` encoded in a stream of the same shape.
  // Throws RunError that names the node when the code is damaged.
  void add(NodeId from, const Message& code, float weight, std::span<float> into);
  // Sends a code of this stream, and counts what it saves.
  void send(NodeId to, Message code);
  void add_state(SavedState& state);
  double remembered_squared() const;

 private:
  Compressor& compressor_;
  Channel& channel_;
  const std::size_t length_;
  const std::unique_ptr<CodedStream> stream_;
};

// CHOCO: this node and each of its neighbours keep equal copies of each other's vectors. A code
// tells how a vector differs from its copy, and both ends then change the copy alike, so what a
// code leaves out is sent later. Vectors are as long as the parameters. There is one pair of copies
// per neighbour.
class VECHE_API ModelCopies {
 public:
  // Of a compressor that is on. The channel outlives it.
  ModelCopies(Compressor& compressor, Channel& channel, const std::vector<NodeId>& neighbours);
  ~ModelCopies();

  // Before the first exchange, one of these. `start`, in step: all nodes of the channel call it
  // together, and a run that goes on from a checkpoint has its copies. `start_async`: the same for
  // asynchronous strategies, whose copies no checkpoint keeps. `start_alone` waits for nobody, and
  // the first message to each neighbour is the full vector (StartsAlone).
  void start(std::span<const float> x);
  void start_async(std::span<const float> x);
  void start_alone();

  // Sends how x differs from the neighbour's copy of it.
  void send(NodeId neighbour, std::span<const float> x);
  // Takes what a neighbour has sent. Throws RunError that names the node when the code is damaged.
  void receive(NodeId neighbour, const Message& code);
  // x += gamma * weight * (copy of the neighbour's vector - the neighbour's copy of this node's).
  void pull(std::span<float> x, NodeId neighbour, double weight) const;

  // For strategies in step.
  void add_state(SavedState& state);
  // The squared norm of what the neighbours' copies are behind x.
  double remembered_squared(std::span<const float> x) const;

 private:
  Compressor& compressor_;
  const std::unique_ptr<Copies> copies_;
};

}  // namespace veche
