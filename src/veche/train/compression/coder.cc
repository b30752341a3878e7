#include "veche/train/compression/coder.h"

#include <atomic>

namespace veche {

Coder::Coder(const StrategyContext& context)
    : compression_(context.nodes() > 1 ? context.compression : nullptr),
      endpoint_(context.channel.endpoint),
      seed_(context.seed),
      me_(context.me()),
      nodes_(context.nodes()),
      length_(context.learner.parameters().size()) {
  if (on()) layout_ = context.learner.parameter_layout();
}

StreamShape Coder::shape(std::size_t from, std::size_t length, bool copies, std::size_t among) const {
  StreamShape shape;
  shape.length = length;
  shape.tensors = tensors_within(layout_, from, length);
  shape.small = how().small;
  shape.seed = seed_;
  shape.sender = me_;
  shape.feedback = how().feedback && !copies;
  shape.remembered = copies;
  shape.momentum = how().momentum;
  shape.clip = how().clip;
  shape.nodes = among;
  shape.rounds_per_epoch = how().steps_per_epoch;
  return shape;
}

void Coder::count(Time spent) {
  std::atomic_ref(nanoseconds_)
      .fetch_add(static_cast<std::uint64_t>(spent.count() * 1e9), std::memory_order_relaxed);
}

void Coder::count(std::size_t plain_bytes, std::size_t coded_bytes) {
  std::atomic_ref(plain_bytes_).fetch_add(plain_bytes, std::memory_order_relaxed);
  std::atomic_ref(coded_bytes_).fetch_add(coded_bytes, std::memory_order_relaxed);
}

Coding Coder::counted() const {
  const auto value = [](const std::uint64_t& number) {
    return std::atomic_ref(const_cast<std::uint64_t&>(number)).load(std::memory_order_relaxed);
  };
  Coding coding;
  coding.plain_bytes = value(plain_bytes_);
  coding.coded_bytes = value(coded_bytes_);
  coding.seconds = static_cast<double>(value(nanoseconds_)) / 1e9;
  return coding;
}

void Coder::add_state(SavedState& state) {
  if (!on()) return;
  state.numbers.push_back(&plain_bytes_);
  state.numbers.push_back(&coded_bytes_);
}

CodedStream::CodedStream(Coder& coder, StreamShape shape, Channel& channel)
    : coder_(coder), channel_(channel) {
  CodecSpec spec = coder.how().spec;
  // Models have no momentum to be corrected: they travel by their largest entries.
  if (spec.gradients_only() && shape.remembered) spec.kind = CodecSpec::Kind::topk;
  codec_ = make_codec(spec, std::move(shape));
}

Message CodedStream::encode(std::span<const float> x) {
  return coder_.timed([&] { return codec_->encode(x, round_++, channel_.pool); });
}

void CodedStream::add(NodeId from, const Message& code, float weight, std::span<float> into) {
  const NodeId known = channel_.endpoint.known_as(from);
  coder_.timed([&] { add_decoded_from(known, *codec_, code, weight, into); });
}

void CodedStream::add_state(SavedState& state) {
  append(state, codec_->state());
  state.numbers.push_back(&round_);
}

double CodedStream::remembered_squared() const {
  const double norm = codec_->remembered_norm();
  return norm * norm;
}

void append(SavedState& state, SavedState more) {
  state.vectors.insert(state.vectors.end(), more.vectors.begin(), more.vectors.end());
  state.numbers.insert(state.numbers.end(), more.numbers.begin(), more.numbers.end());
}

}  // namespace veche
