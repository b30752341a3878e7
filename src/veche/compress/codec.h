#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/compress/codec_spec.h"
#include "veche/errors.h"
#include "veche/learner.h"
#include "veche/message.h"
#include "veche/saved_state.h"

namespace veche {

// A code that no encoder of this stream can produce. `what()` describes the damage without the
// peer; add_decoded_from adds the peer.
class DamagedCode : public RunError {
 public:
  using RunError::RunError;
};
// The vector to send contains a NaN or infinity: the run has diverged. Codes with scales cannot
// represent it.
class NotANumber : public RunError {
 public:
  using RunError::RunError;
};

// The stream that a codec is made for: a vector of fixed length that one sender sends repeatedly.
// All fields except `sender` are equal on every node that encodes or decodes such streams.
struct StreamShape {
  std::size_t length = 0;
  // The tensors in the vector, with offsets from its first float. Floats outside any tensor count
  // as a vector. May be empty.
  std::vector<TensorLayout> tensors = {};
  std::size_t small = 0;  // tensors with fewer floats are sent uncompressed
  std::uint64_t seed = 1;
  std::uint64_t sender = 0;  // seeds the sender's random rounding
  // Error feedback: the codec adds what a code leaves out to the next vector.
  bool feedback = false;
  // The caller keeps the error itself (CHOCO's copies). With neither flag, codecs that can be are
  // unbiased; with one, no codec makes the error larger than the vector.
  bool remembered = false;
  // For `dgc`: the momentum of the optimiser it replaces; the norm to which gradients are clipped
  // (0: no clipping), on one of `nodes` nodes; rounds per step of its warm-up (0: no warm-up).
  float momentum = 0;
  float clip = 0;
  std::size_t nodes = 1;
  double rounds_per_epoch = 0;
};

// The tensors of [from, from + length) of a longer vector. A tensor cut by the range becomes a
// vector.
std::vector<TensorLayout> tensors_within(std::span<const TensorLayout> tensors, std::size_t from,
                                         std::size_t length);

// Compresses and decompresses vectors. An instance encodes at most one stream and decodes any
// stream of the same shape. Its memory belongs to the stream it encodes and is allocated by the
// first encode() or state(). One thread at a time. Equal vectors, rounds and memories give equal
// bytes on every machine.
class Codec {
 public:
  virtual ~Codec() = default;

  // Encodes x. `round` counts the calls for this stream and determines random numbers and warm-up;
  // a code contains what its decoder needs. Throws NotANumber.
  virtual Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) = 0;
  // into += weight * decoded `code`. The code starts at a multiple of four bytes, as messages do.
  // Validates the whole code before writing; throws DamagedCode.
  virtual void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) = 0;
  // Upper bound on the length of any code of the stream.
  virtual std::size_t most_bytes() const = 0;
  // State that encode() keeps between calls.
  virtual SavedState state() { return {}; }
  // Norm of the error not yet sent.
  virtual double remembered_norm() const { return 0; }
};

// Makes a codec of any kind except powergossip, with error feedback, `small` and zstd as requested.
std::unique_ptr<Codec> make_codec(const CodecSpec& spec, StreamShape shape);

// add_decoded with an error that names the peer: "node 3 sent a code that ends after 7 bytes".
void add_decoded_from(NodeId peer, Codec& codec, const Message& code, float weight, std::span<float> into);
// Rethrows the damage with the peer's name, for other decoders.
[[noreturn]] void blame(NodeId peer, const DamagedCode& damage);

}  // namespace veche
