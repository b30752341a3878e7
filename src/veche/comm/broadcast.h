#pragma once

#include "veche/channel.h"

namespace veche {

// Sends the root's message to all nodes along a binomial tree; the argument of the others is
// ignored. The bytes are not copied: threads of a process share them.
Message broadcast(Channel& channel, NodeId root, Message message);

}  // namespace veche
