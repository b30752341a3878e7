#pragma once

#include <cstdint>
#include <string_view>

#include "veche/data/division/partition.h"

namespace veche {

// The fraction of its samples that a node exchanges with others in each epoch. `rule` is one of
//   local      0: every node keeps its own samples
//   global     1: a new random division in every epoch
//   partial:Q  the fraction Q
// Throws RequestError naming data.shuffle.
double read_shuffle(std::string_view rule);

// The samples of each node in `epoch`. `home` is the permanent division. Each node lends the
// fraction `exchanged` of its samples, chosen anew, and the lent samples are dealt out at random;
// each node receives as many as it lent. All sizes stay as in `home`, and a node needs memory only
// for its own samples and those it borrows. Depends only on its arguments, not on earlier epochs.
// With 1 the result is a random division of all samples, independent of `home`; with 0 it is
// `home`.
Partition division(const Partition& home, double exchanged, std::uint64_t seed, std::uint64_t epoch);

}  // namespace veche
