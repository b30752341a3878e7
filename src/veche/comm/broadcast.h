#pragma once

#include "veche/channel.h"

namespace veche {

// Everybody gets the root's message, along a binomial tree; the others' is not looked at. Nobody copies it:
// threads of a process then hold the same bytes.
Message broadcast(Channel& channel, NodeId root, Message message);

}  // namespace veche
