#pragma once

#include <span>

#include "veche/channel.h"

namespace veche {

// Collective: whether all nodes of the channel have the same vector. Sends eight bytes.
bool equal_everywhere(Channel& channel, std::span<const float> x);

}  // namespace veche
