#pragma once

#include <cstddef>

#include "veche/channel.h"

namespace veche {

// Sends the root's message to all nodes along a binomial tree; the argument of the others is
// ignored. The bytes are not copied: threads of a process share them.
Message broadcast(Channel& channel, NodeId root, Message message);
// The same for a message whose size all nodes know. A node checks it before it passes the message
// on, so that BadMessage names the node that sent another size.
Message broadcast(Channel& channel, NodeId root, Message message, std::size_t bytes);

}  // namespace veche
