#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/endpoint.h"

namespace veche::grid {

// The seats that watch this one: up to 5 that follow it, round the table.
std::vector<std::uint32_t> observers_of(std::uint32_t seat, std::size_t seats);
bool observes(std::uint32_t observer, std::uint32_t seat, std::size_t seats);

struct Missed {
  std::uint32_t seat;
  Time since;  // when it was first heard that it is missed
};

// Who of a view is lost. `known`: lost for certain, whoever sees it. `reports`: by seat, whom it misses, in
// the order of seats. A member is lost when more than half of its observers that are not lost themselves miss
// it: where at most half of the members die at once, all of them are found, as a set of dead each of whom has
// three dead among the five that follow would be more than half of all. Where a member is missed since
// `long_ago` by a few only, a link is broken and both are alive: they cannot work together, and who is in
// more such pairs goes, the higher seat of equals.
std::vector<bool> believed_lost(std::vector<bool> known, std::span<const std::vector<Missed>> reports,
                                Time long_ago);

}  // namespace veche::grid
