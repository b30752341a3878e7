#include "veche/train/compression/coded_sum.h"

#include <algorithm>

#include "veche/collectives.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// The bytes that a node sends in a ring all-reduce.
std::size_t ring_bytes(std::size_t floats, int nodes) {
  const auto n = static_cast<std::size_t>(nodes);
  return 2 * (n - 1) * floats * sizeof(float) / n;
}

}  // namespace

AllReduceAlgorithm half_algorithm(AllReduceAlgorithm asked) {
  return asked == AllReduceAlgorithm::automatic ? AllReduceAlgorithm::ring : asked;
}

Message HalfWire::write(std::span<const float> data) {
  return coder_.timed([&] {
    Message message = channel_.pool.make(data.size() * sizeof(std::uint16_t));
    to_half(format_, data, message.writable<std::uint16_t>());
    return message;
  });
}

void HalfWire::add(std::span<float> into, const Message& message, NodeId from) {
  coder_.timed([&] { add_half(format_, halves(message, into.size(), from), 1, into); });
}

void HalfWire::read(std::span<float> into, const Message& message, NodeId from) {
  coder_.timed([&] { from_half(format_, halves(message, into.size(), from), into); });
}

void HalfWire::check(std::size_t floats, const Message& message, NodeId from) const {
  halves(message, floats, from);
}

std::span<const std::uint16_t> HalfWire::halves(const Message& message, std::size_t length,
                                                NodeId from) const {
  if (message.size() != length * sizeof(std::uint16_t))
    blame(channel_.endpoint.known_as(from),
          DamagedCode("a code that has " + std::to_string(message.size()) + " bytes where " +
                      std::to_string(length * sizeof(std::uint16_t)) + " are due"));
  return message.as<std::uint16_t>();
}

void HalfWire::remember(std::span<float> x, std::span<float> memory) {
  if (memory.empty()) return;
  coder_.timed([&] {
    scratch_.resize(x.size());
    veche::add(x, memory);
    to_half(format_, x, scratch_);
    std::ranges::copy(x, memory.begin());
    from_half(format_, scratch_, x);
    for (std::size_t i = 0; i < x.size(); ++i) memory[i] -= x[i];
  });
}

CodedSum::CodedSum(Coder& coder, Channel channel, const StreamShape& shape, AllReduceAlgorithm algorithm)
    : coder_(coder), channel_(std::move(channel)), algorithm_(algorithm) {
  // Small tensors are sent as floats only in codes of their own.
  const CodecSpec& spec = coder.how().spec;
  const CodecSpec::Sum kind =
      spec.sum() == CodecSpec::Sum::halves && shape.small > 0 ? CodecSpec::Sum::no : spec.sum();
  if (kind == CodecSpec::Sum::phases) {
    summed_ = make_summed_codec(spec, shape);
  } else if (kind == CodecSpec::Sum::halves) {
    wire_.emplace(coder, channel_);
    if (shape.feedback) memory_.resize(shape.length);
  } else {
    stream_.emplace(coder, shape, channel_);
    if (coder.how().vote) vote_.emplace(spec, shape);
  }
}

void CodedSum::sum(std::span<float> x) {
  const std::uint64_t before = channel_.sent().bytes;
  if (summed_)
    sum_phases(x);
  else if (wire_)
    sum_halves(x);
  else
    sum_gathered(x);
  count_since(before, x.size());
}

void CodedSum::count_since(std::uint64_t sent_before, std::size_t floats) {
  coder_.count(ring_bytes(floats, channel_.size()), channel_.sent().bytes - sent_before);
}

void CodedSum::sum_gathered(std::span<float> x) {
  const std::vector<Message> codes = all_gather(channel_, stream_->encode(x));
  std::ranges::fill(x, 0.0F);
  for (std::size_t node = 0; node < codes.size(); ++node) {
    const NodeId from{static_cast<int>(node)};
    if (!vote_) {
      stream_->add(from, codes[node], 1, x);
      continue;
    }
    try {
      coder_.timed([&] { vote_->add(codes[node].bytes()); });
    } catch (const DamagedCode& damage) {
      blame(channel_.endpoint.known_as(from), damage);
    }
  }
  if (!vote_) return;
  coder_.timed([&] {
    vote_->finish(x);
    scale(x, static_cast<float>(codes.size()));  // a vote is a mean
  });
}

// These codecs encode means of vectors, and remember what that leaves out.
void CodedSum::sum_phases(std::span<float> x) {
  const auto nodes = static_cast<float>(channel_.size());
  scale(x, nodes);
  for (std::size_t k = 0; k < summed_->phases(); ++k) {
    const std::span<float> phase = coder_.timed([&] { return summed_->phase(k, x, round_); });
    all_reduce(channel_, phase, algorithm_);
  }
  coder_.timed([&] { summed_->finish(1.0F / nodes, x); });
  ++round_;
}

void CodedSum::sum_halves(std::span<float> x) {
  wire_->remember(x, memory_);
  all_reduce(channel_, x, half_algorithm(algorithm_), &*wire_);
}

void CodedSum::add_state(SavedState& state) {
  if (stream_) stream_->add_state(state);
  if (summed_) {
    append(state, summed_->state());
    state.numbers.push_back(&round_);
  }
  if (!memory_.empty()) state.vectors.emplace_back(memory_);
}

double CodedSum::remembered_squared() const {
  if (stream_) return stream_->remembered_squared();
  if (summed_) return summed_->remembered_norm() * summed_->remembered_norm();
  return squared_norm(memory_);
}

}  // namespace veche
