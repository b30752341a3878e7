#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace veche {

// Which piece of a state is asked of which donor, who all have the same: pieces that are there already are
// not asked for, each donor is asked for a few ahead, so that quick ones give more, and what one did not give
// is asked of another. Knows nothing of messages: tell it what happened.
class PiecePlan {
 public:
  // The hashes of the pieces as they should be and as they are here (fewer: the rest is not here).
  PiecePlan(const std::vector<std::uint64_t>& wanted, const std::vector<std::uint64_t>& here,
            std::size_t donors, std::size_t ahead = 4);

  // What to ask this donor for now; nothing: it has enough to do, or nothing is left for it.
  std::optional<std::size_t> next(std::size_t donor);
  void arrived(std::size_t piece);
  // It came damaged, or the donor has not got it.
  void refused(std::size_t piece, std::size_t donor);
  // The donor is gone.
  void lost(std::size_t donor);

  bool complete() const { return missing_ == 0; }
  std::size_t missing() const { return missing_; }
  // No donor is left for a piece that is missing.
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
  void unask(Piece& piece);

  std::vector<Piece> pieces_;
  std::vector<std::size_t> under_way_;  // by donor
  std::vector<bool> lost_;
  const std::size_t ahead_;
  std::size_t missing_ = 0;
  std::size_t first_ = 0;  // pieces before are here or asked for
};

}  // namespace veche
