#include "veche/compress/codec.h"

#include <algorithm>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/summed_codecs.h"
#include "veche/compress/tensor_runs.h"

namespace veche {
namespace {

std::unique_ptr<Codec> make_core(const CodecSpec& spec, const StreamShape& shape) {
  using Kind = CodecSpec::Kind;
  switch (spec.kind) {
    case Kind::none:
      return make_raw_codec(shape);
    case Kind::fp16:
    case Kind::bf16:
      return make_half_codec(spec, shape);
    case Kind::int8:
      return make_int8_codec(shape);
    case Kind::qsgd:
      return make_qsgd_codec(static_cast<int>(spec.amount), shape);
    case Kind::sign:
      return make_sign_codec(shape);
    case Kind::threshold:
      return make_threshold_codec(static_cast<float>(spec.amount), shape);
    case Kind::topk:
      return make_topk_codec(spec.amount, shape);
    case Kind::randomk:
      return make_randomk_codec(spec.amount, shape);
    case Kind::dgc:
      return make_dgc_codec(spec.amount, shape);
    case Kind::powersgd:
      return make_powersgd_codec(static_cast<int>(spec.amount), shape);
    case Kind::powergossip:
      break;
  }
  throw std::logic_error("powergossip is for the two ends of an edge (power_gossip.h)");
}

}  // namespace

std::unique_ptr<Codec> make_codec(const CodecSpec& spec, StreamShape shape) {
  using Kind = CodecSpec::Kind;
  shape.remembered |= shape.feedback;
  std::unique_ptr<Codec> codec = make_core(spec, shape);
  const bool sees_to_small = spec.kind == Kind::none || spec.kind == Kind::dgc || spec.kind == Kind::powersgd;
  if (!sees_to_small) codec = with_small_tensors(std::move(codec), shape);
  if (shape.feedback && spec.kind != Kind::dgc) codec = with_error_feedback(std::move(codec), shape.length);
  return spec.zstd ? with_zstd(std::move(codec)) : std::move(codec);
}

std::unique_ptr<SummedCodec> make_summed_codec(const CodecSpec& spec, StreamShape shape) {
  if (spec.sum() != CodecSpec::Sum::phases)
    throw std::logic_error(spec.word() + " cannot be summed as floats");
  shape.remembered |= shape.feedback;
  return spec.kind == CodecSpec::Kind::powersgd ? make_summed_powersgd(static_cast<int>(spec.amount), shape)
                                                : make_summed_randomk(spec.amount, shape);
}

std::vector<TensorLayout> tensors_within(std::span<const TensorLayout> tensors, std::size_t from,
                                         std::size_t length) {
  std::vector<TensorLayout> result;
  for (const TensorLayout& tensor : tensors) {
    const std::size_t start = std::max(from, tensor.offset);
    const std::size_t end = std::min(from + length, tensor.offset + floats_of(tensor));
    if (start >= end) continue;
    TensorLayout part = tensor;
    part.offset = start - from;
    if (end - start != floats_of(tensor)) {
      part.shape = {static_cast<std::int64_t>(end - start)};
      part.strides = {1};
    }
    result.push_back(std::move(part));
  }
  return result;
}

void add_decoded_from(NodeId peer, Codec& codec, const Message& code, float weight, std::span<float> into) {
  try {
    codec.add_decoded(code.bytes(), weight, into);
  } catch (const DamagedCode& damage) {
    blame(peer, damage);
  }
}

void blame(NodeId peer, const DamagedCode& damage) {
  throw RunError("node " + std::to_string(peer.value) + " sent " + damage.what());
}

void check_scales(const float* scales, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isfinite(scales[i])) CodeReader::damaged("has a scale that is not a number");
}

void not_a_number() {
  throw NotANumber(
      "the vector to send has a value that is not a number: lower optimizer.lr or set optimizer.clip");
}

}  // namespace veche
