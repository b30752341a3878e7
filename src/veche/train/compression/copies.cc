#include "veche/train/compression/copies.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "veche/comm/equal_everywhere.h"
#include "veche/train/compression/difference_passes.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kBlock = 2048;  // of sums that stay in the first cache

std::size_t place(std::span<const NodeId> nodes, NodeId node) {
  const auto found = std::ranges::find(nodes, node);
  if (found == nodes.end())
    throw std::logic_error("node " + std::to_string(node.value) + " has no copy here");
  return static_cast<std::size_t>(found - nodes.begin());
}

}  // namespace

void move(std::span<float> x, double gamma, std::span<const Pull> pulls) {
  std::array<float, kBlock> sum;
  for (std::size_t at = 0; at < x.size(); at += kBlock) {
    const std::size_t n = std::min(kBlock, x.size() - at);
    std::ranges::fill(sum, 0.0F);
    for (const Pull& pull : pulls) {
      const auto weight = static_cast<float>(gamma * pull.weight);
      if (pull.from.empty())
        add_scaled_pass(sum.data(), weight, pull.towards.data() + at, n);
      else if (pull.towards.empty())
        add_scaled_pass(sum.data(), -weight, pull.from.data() + at, n);
      else
        add_difference_pass(sum.data(), weight, pull.towards.data() + at, pull.from.data() + at, n);
    }
    add(x.subspan(at, n), std::span<const float>(sum).first(n));
  }
}

Copies::Copies(Coder& coder, Channel& channel, StreamShape shape, std::vector<NodeId> sources,
               std::vector<NodeId> readers, Told told)
    : coder_(coder),
      channel_(channel),
      sources_(std::move(sources)),
      readers_(std::move(readers)),
      length_(shape.length) {
  const std::uint64_t me = shape.sender;
  const std::size_t outs = told == Told::to_all ? 1 : std::max<std::size_t>(1, readers_.size());
  for (std::size_t k = 0; k < outs; ++k) {
    // Random roundings for one reader are not those for another.
    shape.sender = outs == 1 ? me : (me << 32U) + k;
    outs_.push_back({CodedStream(coder_, shape, channel_), std::vector<float>(length_)});
  }
  for (std::size_t k = 0; k < sources_.size(); ++k) ins_.emplace_back(length_);
}

void Copies::start(std::span<const float> x) {
  if (started_ != 0) return;
  started_ = 1;
  if (equal_everywhere(channel_, x)) become(x);
}

void Copies::become(std::span<const float> x) {
  for (Out& each : outs_) std::ranges::copy(x, each.copy.begin());
  for (std::vector<float>& copy : ins_) std::ranges::copy(x, copy.begin());
}

void Copies::start_with_all(std::span<const float> x) {
  if (equal_everywhere(channel_, x)) return become(x);
  for (const NodeId reader : readers_) send(reader, encode_full(x, reader));
  for (const NodeId source : sources_) apply_full(source, channel_.expect(source));
}

void Copies::start_apart() {
  for (Out& each : outs_) each.first = true;
  unheard_ = sources_;
}

Copies::Out& Copies::out(std::optional<NodeId> reader) {
  return outs_.size() == 1 || !reader ? outs_.front() : outs_[place(readers_, *reader)];
}
std::vector<float>& Copies::copy_of(NodeId source) { return ins_[place(sources_, source)]; }

Message Copies::encode(std::span<const float> x, std::optional<NodeId> reader) {
  Out& told = out(reader);
  if (std::exchange(told.first, false)) return encode_full(x, reader);
  change_.resize(length_);
  coder_.timed([&] { subtract_pass(change_.data(), x.data(), told.copy.data(), length_); });
  Message code = told.stream.encode(change_);
  told.stream.add(channel_.me(), code, 1, told.copy);
  return code;
}

void Copies::apply(NodeId source, const Message& code) {
  if (std::erase(unheard_, source) > 0) return apply_full(source, code);
  outs_.front().stream.add(source, code, 1, copy_of(source));
}

Message Copies::encode_full(std::span<const float> x, std::optional<NodeId> reader) {
  std::ranges::copy(x, out(reader).copy.begin());
  return channel_.pool.copy_of(x);
}

void Copies::apply_full(NodeId source, const Message& floats) {
  if (floats.size() != length_ * sizeof(float))
    blame(channel_.endpoint.known_as(source),
          DamagedCode("a model that has " + std::to_string(floats.size()) + " bytes where " +
                      std::to_string(length_ * sizeof(float)) + " are due"));
  std::ranges::copy(floats.as<float>(), copy_of(source).begin());
}

void Copies::set_both(NodeId other, const Message& mine, const Message& theirs) {
  std::ranges::copy(mine.as<float>(), out(other).copy.begin());
  apply_full(other, theirs);
}

void Copies::send(NodeId to, Message message) {
  coder_.count(length_ * sizeof(float), message.size());
  channel_.send(to, std::move(message));
}

std::span<const float> Copies::own(std::optional<NodeId> reader) const {
  return outs_.size() == 1 || !reader ? outs_.front().copy : outs_[place(readers_, *reader)].copy;
}
std::span<const float> Copies::of(NodeId source) const { return ins_[place(sources_, source)]; }

void Copies::add_state(SavedState& state) {
  state.numbers.push_back(&started_);
  for (Out& each : outs_) {
    state.vectors.emplace_back(each.copy);
    each.stream.add_state(state);
  }
  for (std::vector<float>& copy : ins_) state.vectors.emplace_back(copy);
}

double Copies::remembered_squared(NodeId reader, std::span<const float> x) const {
  return distance(x, own(reader)).l2_squared;
}

double Copies::remembered_squared(std::span<const float> x) const {
  double sum = 0;
  for (const Out& each : outs_) sum += distance(x, each.copy).l2_squared;
  return sum;
}

}  // namespace veche
