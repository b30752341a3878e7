#pragma once

#include <cstddef>
#include <functional>

#include "veche/channel.h"

namespace veche {

// Sends the root's message to all nodes along a binomial tree; the argument of the others is
// ignored. The bytes are not copied: threads of a process share them.
// A node takes the message before it passes it on: `take` throws if it is damaged, with the name of
// the node that sent it. The root's own is not taken.
Message broadcast(Channel& channel, NodeId root, Message message,
                  const std::function<void(NodeId from, const Message& message)>& take);
// The same for a message whose size all nodes know. BadMessage names the node that sent another.
Message broadcast(Channel& channel, NodeId root, Message message, std::size_t bytes);

}  // namespace veche
