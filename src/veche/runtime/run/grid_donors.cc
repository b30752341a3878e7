#include "veche/runtime/run/grid_donors.h"

#include <algorithm>

namespace veche {
namespace {

// A silent link is closed long before, and requests over it are then answered.
constexpr Time kAnswerTimeout{60}, kPollTime{0.1};
constexpr int kMostPauses = 100;

}  // namespace

GridDonors::GridDonors(grid::Grid& grid, const std::atomic<bool>& interrupted)
    : grid_(grid), interrupted_(interrupted), fetches_(grid.fetches()) {}

bool GridDonors::wait_for_one() {
  for (int pauses = 0; count() == 0; ++pauses)
    if (pauses == kMostPauses || !pause()) return false;
  return true;
}

std::size_t GridDonors::count() {
  for (const grid::MemberId& id : grid_.donors())
    if (std::ranges::find(known_, id) == known_.end()) known_.push_back(id);
  return known_.size();
}

void GridDonors::ask(std::size_t donor, std::uint64_t id, const std::string& name, std::uint64_t offset,
                     std::uint32_t length) {
  fetches_->ask(id, known_[donor], name, offset, length);
}

std::optional<Donors::Answer> GridDonors::next() {
  std::optional<Answer> came;
  for (Time waited{0}; waited < kAnswerTimeout && !interrupted_; waited += kPollTime)
    if (const auto answer = fetches_->next(kPollTime)) {
      came.emplace(Answer{answer->id, answer->message});
      break;
    }
  return came;
}

bool GridDonors::pause() {
  fetches_->next(kPause);
  return !interrupted_;
}

}  // namespace veche
