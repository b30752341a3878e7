#include "veche/train/views/piece_plan.h"

#include <algorithm>

namespace veche {

PiecePlan::PiecePlan(const std::vector<std::uint64_t>& wanted, const std::vector<std::uint64_t>& here,
                     std::size_t donors, std::size_t ahead)
    : pieces_(wanted.size()), under_way_(donors), lost_(donors), ahead_(ahead) {
  for (std::size_t i = 0; i < wanted.size(); ++i) pieces_[i].here = i < here.size() && here[i] == wanted[i];
  missing_ = static_cast<std::size_t>(std::ranges::count(pieces_, false, &Piece::here));
}

std::optional<std::size_t> PiecePlan::next(std::size_t donor) {
  if (lost_[donor] || under_way_[donor] >= ahead_) return {};
  while (first_ < pieces_.size() && (pieces_[first_].here || pieces_[first_].asked)) ++first_;
  for (std::size_t i = first_; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (piece.here || piece.asked || !can_give(donor, piece)) continue;
    piece.asked = donor;
    ++under_way_[donor];
    return i;
  }
  return {};
}

void PiecePlan::cancel_request(Piece& piece) {
  if (!piece.asked) return;
  --under_way_[*piece.asked];
  piece.asked.reset();
  first_ = 0;
}

void PiecePlan::arrived(std::size_t piece) {
  Piece& one = pieces_[piece];
  const std::size_t before = first_;
  cancel_request(one);
  first_ = before;
  if (!one.here) --missing_;
  one.here = true;
}

void PiecePlan::refused(std::size_t piece, std::size_t donor) {
  Piece& one = pieces_[piece];
  one.refused.resize(lost_.size());
  one.refused[donor] = true;
  if (one.asked == donor) cancel_request(one);
}

void PiecePlan::lost(std::size_t donor) {
  lost_[donor] = true;
  for (Piece& piece : pieces_)
    if (piece.asked == donor) cancel_request(piece);
}

bool PiecePlan::hopeless() const {
  return std::ranges::any_of(pieces_, [&](const Piece& piece) {
    if (piece.here) return false;
    for (std::size_t donor = 0; donor < lost_.size(); ++donor)
      if (can_give(donor, piece)) return false;
    return true;
  });
}

}  // namespace veche
