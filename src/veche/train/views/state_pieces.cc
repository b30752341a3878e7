#include "veche/train/views/state_pieces.h"

#include <fmt/format.h>

#include "veche/base/content_hash.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// In the order of all: what every node of this model has, then what the strategy has in common.
std::vector<std::span<float>> models_vectors(NodeSelf& self) {
  std::vector<std::span<float>> all{self.learner->parameters(), self.learner->buffers()};
  for (const std::span<float> part : self.optimizer->state()) all.push_back(part);
  return all;
}

}  // namespace

StatePieces::StatePieces(NodeSelf& self) : vectors_(models_vectors(self)) {
  for (std::vector<float>& part : self.common) vectors_.emplace_back(part);
  for (const std::span<float> vector : vectors_) {
    const std::span<std::byte> bytes = std::as_writable_bytes(vector);
    for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes)
      pieces_.push_back(bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at)));
  }
}

std::uint64_t StatePieces::hash(std::size_t piece) const { return content_hash(pieces_[piece]); }

StateManifest StatePieces::manifest() const {
  StateManifest all;
  for (const std::span<float> vector : vectors_) all.lengths.push_back(vector.size());
  for (std::size_t i = 0; i < pieces_.size(); ++i) all.hashes.push_back(hash(i));
  return all;
}

void fit_state(NodeSelf& self, const std::vector<std::uint64_t>& lengths) {
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
  // The strategy's are as long as the model, or shorter: nobody makes others run out of memory.
  std::vector<std::size_t> common;
  for (std::size_t i = least; i < lengths.size(); ++i) {
    if (lengths[i] > lengths.front() || lengths.size() > least + 16)
      throw RunError("the others' state is of another strategy");
    common.push_back(lengths[i]);
  }
  self.common.resize(common.size());
  for (std::size_t i = 0; i < common.size(); ++i) self.common[i].resize(common[i]);
}

std::uint64_t state_hash(NodeSelf& self) {
  std::uint64_t hash = content_hash(std::as_bytes(self.learner->parameters()));
  for (const std::span<float> part : self.optimizer->state()) hash = content_hash(std::as_bytes(part), hash);
  return hash == 0 ? 1 : hash;
}

}  // namespace veche
