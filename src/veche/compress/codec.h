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

// A code that no encoder of the same stream can have made. `what()` says what is wrong with it and not whose
// it is; add_decoded_from says that too.
class DamagedCode : public RunError {
 public:
  using RunError::RunError;
};
// Something in the vector to be sent is not a number: the run has diverged. Codes with scales cannot tell.
class NotANumber : public RunError {
 public:
  using RunError::RunError;
};

// What a codec is made for: a stream, which is a vector of fixed length that one sender sends again and
// again. All but `sender` is the same for all who code or decode such streams.
struct StreamShape {
  std::size_t length = 0;
  // The tensors in it, offsets from its first float; what no tensor covers counts as a vector. May be empty.
  std::vector<TensorLayout> tensors = {};
  std::size_t small = 0;  // tensors with fewer floats travel as they are
  std::uint64_t seed = 1;
  std::uint64_t sender = 0;  // tells random roundings of senders apart
  // Somebody keeps what a code leaves out and adds it to the next: the codec itself (error feedback), ..
  bool feedback = false;
  // .. or the caller (CHOCO's copies). Without either, codecs that can be are unbiased; with one, none makes
  // what remains larger than what was sent.
  bool remembered = false;
  // For `dgc`: of the optimiser it stands in for; the norm that gradients are cut to (0: any), on one of
  // `nodes`; rounds that each step of its warm-up lasts (0: none).
  float momentum = 0;
  float clip = 0;
  std::size_t nodes = 1;
  double rounds_per_epoch = 0;
};

// The tensors of [from, from + length) of a longer vector; one that is cut becomes a vector.
std::vector<TensorLayout> tensors_within(std::span<const TensorLayout> tensors, std::size_t from,
                                         std::size_t length);

// Turns vectors into fewer bytes and back. An instance may code one stream, and decode any of the same shape:
// what it remembers belongs to the stream that it codes, and is there only after the first encode() or
// state(). One thread at a time. Equal vectors, rounds and memories give equal bytes, on every machine.
class Codec {
 public:
  virtual ~Codec() = default;

  // The code of x. `round` counts the calls of this stream and decides over random numbers and warm-up; codes
  // carry what decoding needs of it. Throws NotANumber.
  virtual Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) = 0;
  // into += weight * what `code` tells, which begins at a multiple of four bytes, as messages do. Looks at
  // the whole code before it writes; throws DamagedCode.
  virtual void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) = 0;
  // No code of the stream is longer.
  virtual std::size_t most_bytes() const = 0;
  // What encode() keeps from call to call.
  virtual SavedState state() { return {}; }
  // The norm of what is left to be sent.
  virtual double remembered_norm() const { return 0; }
};

// Of any kind but powergossip; with error feedback, `small` and zstd as the two say.
std::unique_ptr<Codec> make_codec(const CodecSpec& spec, StreamShape shape);

// add_decoded, where damage names the peer: "node 3 sent a code that ends after 7 bytes".
void add_decoded_from(NodeId peer, Codec& codec, const Message& code, float weight, std::span<float> into);
// The same for what else takes codes apart.
[[noreturn]] void blame(NodeId peer, const DamagedCode& damage);

}  // namespace veche
