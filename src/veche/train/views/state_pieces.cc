#include "veche/train/views/state_pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/files/content_hash.h"
#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// The order of all vectors: those of every node with this model, then the strategy's common state.
std::vector<std::span<float>> models_vectors(MemberState& self) {
  std::vector<std::span<float>> all{self.learner->parameters(), self.learner->buffers()};
  for (const std::span<float> part : self.optimizer->state()) all.push_back(part);
  return all;
}

std::vector<std::span<float>> all_vectors(MemberState& self) {
  std::vector<std::span<float>> all = models_vectors(self);
  for (std::vector<float>& part : self.common) all.emplace_back(part);
  return all;
}

std::vector<std::span<const float>> as_read(const std::vector<std::span<float>>& vectors) {
  return {vectors.begin(), vectors.end()};
}

}  // namespace

std::vector<std::uint64_t> StateManifest::coded() const {
  std::vector<std::uint64_t> words{step, lengths.size(), hashes.size()};
  words.insert(words.end(), lengths.begin(), lengths.end());
  words.insert(words.end(), hashes.begin(), hashes.end());
  return words;
}

std::optional<StateManifest> StateManifest::of(std::span<const std::byte> code) {
  const std::vector<std::uint64_t> words = copied_items<std::uint64_t>(code);
  const std::size_t most = words.size() < 3 ? 0 : words.size() - 3;
  if (words.size() < 3 || code.size() % sizeof(std::uint64_t) != 0 || words[1] > most ||
      words[2] != most - words[1])
    return {};
  const auto hashes = words.begin() + 3 + static_cast<std::ptrdiff_t>(words[1]);
  return StateManifest{words[0], {words.begin() + 3, hashes}, {hashes, words.end()}};
}

StateCut::StateCut(const std::vector<std::span<const float>>& vectors) {
  for (const std::span<const float> vector : vectors) cut(vector);
}

StateCut::StateCut(const std::vector<std::vector<float>>& vectors) {
  for (const std::vector<float>& vector : vectors) cut(vector);
}

void StateCut::cut(std::span<const float> vector) {
  lengths_.push_back(vector.size());
  const std::span<const std::byte> bytes = std::as_bytes(vector);
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes)
    pieces_.push_back(bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at)));
}

std::vector<std::uint64_t> StateCut::hashes() const {
  std::vector<std::uint64_t> all;
  for (const std::span<const std::byte> piece : pieces_) all.push_back(content_hash(piece));
  return all;
}

StateManifest StateCut::manifest(std::uint64_t step) const { return {step, lengths_, hashes()}; }

StatePieces::StatePieces(MemberState& self) : vectors_(all_vectors(self)), cut_(as_read(vectors_)) {}

void StatePieces::put(std::size_t piece, std::span<const std::byte> content) const {
  const std::byte* const place = cut_[piece].data();
  for (const std::span<float> vector : vectors_) {
    const std::span<std::byte> bytes = std::as_writable_bytes(vector);
    if (!bytes.empty() && place >= bytes.data() && place < bytes.data() + bytes.size())
      std::ranges::copy(content, bytes.begin() + (place - bytes.data()));
  }
}

void fit_state(MemberState& self, const std::vector<std::uint64_t>& lengths) {
  const std::vector<std::span<float>> mine = models_vectors(self);
  const std::size_t least = mine.size();
  if (lengths.size() < least)
    throw RunError(fmt::format("the others' state has {} vectors and this member's {}: the models differ",
                               lengths.size(), least));
  for (std::size_t i = 0; i < least; ++i)
    if (lengths[i] != mine[i].size())
      throw RunError(
          fmt::format("vector {} of the others' state has {} numbers and this member's {}: the "
                      "models differ",
                      i, lengths[i], mine[i].size()));
  // The strategy's vectors are at most as long as the model: a faulty member cannot exhaust the
  // memory.
  std::vector<std::size_t> common;
  for (std::size_t i = least; i < lengths.size(); ++i) {
    if (lengths[i] > lengths.front() || lengths.size() > least + 16)
      throw RunError("the others' state is of another strategy");
    common.push_back(lengths[i]);
  }
  self.common.resize(common.size());
  for (std::size_t i = 0; i < common.size(); ++i) self.common[i].resize(common[i]);
}

std::vector<std::span<float>> shared_vectors(MemberState& self) {
  std::vector<std::span<float>> all{self.learner->parameters()};
  for (std::vector<float>& part : self.common) all.emplace_back(part);
  return all;
}

std::size_t bytes_in(std::span<const std::span<float>> vectors) {
  std::size_t sum = 0;
  for (const std::span<float> vector : vectors) sum += vector.size_bytes();
  return sum;
}

std::uint64_t state_hash(MemberState& self) {
  std::uint64_t hash = 0;
  for (const std::vector<float>& part : self.common)
    hash = content_hash(std::as_bytes(std::span<const float>(part)), hash);
  if (!self.common.empty()) return hash == 0 ? 1 : hash;
  hash = content_hash(std::as_bytes(self.learner->parameters()));
  for (const std::span<float> part : self.optimizer->state()) hash = content_hash(std::as_bytes(part), hash);
  return hash == 0 ? 1 : hash;
}

}  // namespace veche
