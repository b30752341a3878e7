// The public classes of veche/compression.h over those that built-in strategies use.
#include "veche/compression.h"
#include "veche/train/compression/coded_sum.h"
#include "veche/train/compression/copies.h"

namespace veche {

Compressor::Compressor(const StrategyContext& context) : coder_(std::make_unique<Coder>(context)) {}
Compressor::~Compressor() = default;

bool Compressor::on() const { return coder_->on(); }
bool Compressor::codes(std::uint64_t step) const { return coder_->codes(step); }
double Compressor::gamma() const { return coder_->on() ? coder_->how().gamma : 1; }
Coding Compressor::coding() const { return coder_->counted(); }
void Compressor::add_state(SavedState& state) { coder_->add_state(state); }

CompressedSum::CompressedSum(Compressor& compressor, Channel channel)
    : CompressedSum(compressor, std::move(channel), AllReduceAlgorithm::ring) {}
CompressedSum::CompressedSum(Compressor& compressor, Channel channel, AllReduceAlgorithm algorithm)
    : sum_(std::make_unique<CodedSum>(compressor.coder(), std::move(channel), compressor.coder().whole(false),
                                      algorithm)) {}
CompressedSum::~CompressedSum() = default;

void CompressedSum::sum(std::span<float> x) { sum_->sum(x); }
void CompressedSum::add_state(SavedState& state) { sum_->add_state(state); }
double CompressedSum::remembered_squared() const { return sum_->remembered_squared(); }

CompressedStream::CompressedStream(Compressor& compressor, Channel& channel, std::size_t from,
                                   std::size_t length, Memory memory)
    : compressor_(compressor),
      channel_(channel),
      length_(length),
      stream_(
          std::make_unique<CodedStream>(compressor.coder(),
                                        compressor.coder().shape(from, length, memory == Memory::caller,
                                                                 static_cast<std::size_t>(channel.size())),
                                        channel)) {}
CompressedStream::~CompressedStream() = default;

Message CompressedStream::encode(std::span<const float> x) { return stream_->encode(x); }
void CompressedStream::add(NodeId from, const Message& code, float weight, std::span<float> into) {
  stream_->add(from, code, weight, into);
}
void CompressedStream::send(NodeId to, Message code) {
  compressor_.coder().count(length_ * sizeof(float), code.size());
  channel_.send(to, std::move(code));
}
void CompressedStream::add_state(SavedState& state) { stream_->add_state(state); }
double CompressedStream::remembered_squared() const { return stream_->remembered_squared(); }

ModelCopies::ModelCopies(Compressor& compressor, Channel& channel, const std::vector<NodeId>& neighbours)
    : compressor_(compressor),
      copies_(std::make_unique<Copies>(compressor.coder(), channel, compressor.coder().whole(true),
                                       neighbours, neighbours, Copies::Told::to_each)) {}
ModelCopies::~ModelCopies() = default;

void ModelCopies::start(std::span<const float> x) { copies_->start(x); }
void ModelCopies::start_async(std::span<const float> x) { copies_->start_with_all(x); }
void ModelCopies::start_alone() { copies_->start_apart(); }

void ModelCopies::send(NodeId neighbour, std::span<const float> x) {
  copies_->send(neighbour, copies_->encode(x, neighbour));
}
void ModelCopies::receive(NodeId neighbour, const Message& code) { copies_->apply(neighbour, code); }

void ModelCopies::pull(std::span<float> x, NodeId neighbour, double weight) const {
  const Pull pull{copies_->of(neighbour), copies_->own(neighbour), weight};
  move(x, compressor_.gamma(), {&pull, 1});
}

void ModelCopies::add_state(SavedState& state) { copies_->add_state(state); }
double ModelCopies::remembered_squared(std::span<const float> x) const {
  return copies_->remembered_squared(x);
}

}  // namespace veche
