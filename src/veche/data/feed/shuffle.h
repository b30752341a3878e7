#pragma once

#include <cstdint>
#include <string_view>

#include "veche/data/division/partition.h"

namespace veche {

// What part of its samples a node exchanges with others for each epoch, between 0 and 1. `rule` is
//   local      none: every node keeps its own
//   global     all: a new random division for every epoch
//   partial:Q  the part Q
// Throws RequestError naming data.shuffle.
double read_shuffle(std::string_view rule);

// Who trains on which samples in `epoch`. `home` is where the samples are at rest; each node lends the part
// `exchanged` of its own, chosen anew, and what all have lent is dealt out by chance, to each as many as it
// lent. So all sizes stay those of `home`, a node needs room for its own samples and those lent to it, and
// nothing depends on earlier epochs: a function of its arguments alone. With 1 the result is a random
// division of all samples, whatever `home` was; with 0 it is `home`.
Partition division(const Partition& home, double exchanged, std::uint64_t seed, std::uint64_t epoch);

}  // namespace veche
