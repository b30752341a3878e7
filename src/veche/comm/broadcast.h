#pragma once

#include "veche/channel.h"

namespace veche {

// Everybody gets the root's message; the others' is not looked at.
Message broadcast(Channel& channel, NodeId root, Message message);

}  // namespace veche
