#pragma once

#include <span>

#include "veche/channel.h"

namespace veche {

// Whether all nodes of the channel, which call it together, have the same vector: eight bytes travel.
bool equal_everywhere(Channel& channel, std::span<const float> x);

}  // namespace veche
