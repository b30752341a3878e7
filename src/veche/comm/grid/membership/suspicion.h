#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/endpoint.h"

namespace veche::grid {

// The seats that observe this one: up to 5 that follow it round the table, without absent ones.
std::vector<std::uint32_t> observers_of(std::uint32_t seat, const std::vector<bool>& absent);

struct Missed {
  std::uint32_t seat;
  Time since;  // when the miss was first reported
};

// The lost members of a view. `known`: lost for certain, whoever reports it. `reports`: by seat,
// the members it misses, in seat order. A member is lost when more than half of its observers miss
// it, not counting observers that are lost themselves. If at most half of the members die at once,
// all are found: as long as one is not, some dead member has at most two dead among its five
// followers (otherwise three fifths would be dead). If a member is missed for `timeout` by only a
// few, a link is broken and both ends are alive: they cannot work together, and the one in more
// such pairs goes; among equals, the higher seat.
std::vector<bool> believed_lost(std::vector<bool> known, std::span<const std::vector<Missed>> reports,
                                Time now, Time timeout);

}  // namespace veche::grid
