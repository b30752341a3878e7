#pragma once

#include <span>
#include <string>

#include "veche/channel.h"

namespace veche::python {

// What becomes of the loops' buffers, such as batch-norm statistics, in every step.
enum class Buffers {
  own,        // each node's own
  average,    // the mean over the nodes that have a gradient
  broadcast,  // those of the first of these nodes
};

Buffers buffers_of(const std::string& name);

// All nodes call it together; `active`: this one has a gradient.
void exchange_buffers(Channel& channel, std::span<float> mine, Buffers how, bool active);

}  // namespace veche::python
