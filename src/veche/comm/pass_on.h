#pragma once

#include "veche/channel.h"

namespace veche {

// The root's message for everybody, along a binomial tree; what the others give is not looked at. Nobody
// copies it: threads of a process then hold the same bytes.
Message pass_on(Channel& channel, NodeId root, Message message);

}  // namespace veche
