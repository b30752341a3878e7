#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/endpoint.h"

namespace veche::grid {

// The seats that watch this one: up to 5 that follow it round the table, without those that are absent.
std::vector<std::uint32_t> observers_of(std::uint32_t seat, const std::vector<bool>& absent);

struct Missed {
  std::uint32_t seat;
  Time since;  // when it was first heard that it is missed
};

// Who of a view is lost. `known`: lost for certain, whoever sees it. `reports`: by seat, whom it misses, in
// the order of seats. A member is lost when more than half of its observers miss it, those not counted that
// are lost themselves. Where at most half of the members die at once, all of them are found: as long as one
// is not, one of these has at most two others among the five that follow it (else three fifths would be
// dead). Where a member is missed for `timeout` by a few only, a link is broken and both are alive: they
// cannot work together, and who is in more such pairs goes, the higher seat of equals.
std::vector<bool> believed_lost(std::vector<bool> known, std::span<const std::vector<Missed>> reports,
                                Time now, Time timeout);

}  // namespace veche::grid
