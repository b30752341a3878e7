#include "veche/runtime/run/members_who_lend.h"

#include <algorithm>

namespace veche {
namespace {

// A link that is silent is closed long before, and what was asked over it is then answered.
constexpr Time kLongestSilence{60}, kLookUp{0.1};
constexpr int kMostPauses = 100;

}  // namespace

MembersWhoLend::MembersWhoLend(grid::Grid& grid, const std::atomic<bool>* interrupted)
    : grid_(grid), interrupted_(interrupted), fetches_(grid.fetches()) {}

bool MembersWhoLend::wait_for_one() {
  for (int pauses = 0; count() == 0; ++pauses)
    if (pauses == kMostPauses || !pause()) return false;
  return true;
}

std::size_t MembersWhoLend::count() {
  for (const grid::MemberId& id : grid_.donors())
    if (std::ranges::find(known_, id) == known_.end()) known_.push_back(id);
  return known_.size();
}

void MembersWhoLend::ask(std::size_t lender, std::uint64_t id, const std::string& name, std::uint64_t offset,
                         std::uint32_t length) {
  fetches_->ask(id, known_[lender], name, offset, length);
}

std::optional<Lenders::Answer> MembersWhoLend::next() {
  std::optional<Answer> came;
  for (Time waited{0}; waited < kLongestSilence && goes_on(); waited += kLookUp)
    if (const auto answer = fetches_->next(kLookUp)) {
      came.emplace(Answer{answer->id, answer->message});
      break;
    }
  return came;
}

bool MembersWhoLend::pause() {
  fetches_->next(kPause);
  return goes_on();
}

}  // namespace veche
