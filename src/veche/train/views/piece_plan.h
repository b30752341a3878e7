#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace veche {

// Decides which piece of a state to ask of which donor; all donors have the same state. Pieces that
// are here already are not asked for. Each donor is asked for a few pieces ahead, so that fast
// donors give more. A piece that one donor did not give is asked of another. The caller sends the
// messages and reports what happened.
class PiecePlan {
 public:
  // The hashes of the pieces as they should be and as they are here (if fewer: the rest is
  // missing).
  PiecePlan(const std::vector<std::uint64_t>& wanted, const std::vector<std::uint64_t>& here,
            std::size_t donors, std::size_t ahead = 4);

  // The piece to ask this donor for now; nothing: it has enough to do, or none is left for it.
  std::optional<std::size_t> next(std::size_t donor);
  void arrived(std::size_t piece);
  // The piece came damaged, or the donor does not have it.
  void refused(std::size_t piece, std::size_t donor);
  // The donor is gone.
  void lost(std::size_t donor);

  std::size_t size() const { return pieces_.size(); }
  bool complete() const { return missing_ == 0; }
  std::size_t missing() const { return missing_; }
  // Whether a missing piece has no donor left.
  bool hopeless() const;

 private:
  struct Piece {
    bool here = false;
    std::optional<std::size_t> asked;  // of this donor
    std::vector<bool> refused;         // by donor; empty: by none
  };
  bool can_give(std::size_t donor, const Piece& piece) const {
    return !lost_[donor] && (piece.refused.empty() || !piece.refused[donor]);
  }
  void cancel_request(Piece& piece);

  std::vector<Piece> pieces_;
  std::vector<std::size_t> under_way_;  // by donor
  std::vector<bool> lost_;
  const std::size_t ahead_;
  std::size_t missing_ = 0;
  std::size_t first_ = 0;  // all pieces before this one are here or asked for
};

}  // namespace veche
