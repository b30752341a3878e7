#pragma once

#include <cstdint>

#include "veche/comm/views.h"

namespace veche {

// How many passes over the data had been made at a step.
struct EpochCount {
  std::uint64_t step = 0;
  double epochs = 0;
};

// The count at the start of a view. All members compute the same, since it follows from what they
// agreed on. Nodes in step have all made the same number of steps; of asynchronous nodes the mean
// counts. Newcomers do not know their count and are left out.
EpochCount epochs_at_start(const View& view, bool in_step);

}  // namespace veche
