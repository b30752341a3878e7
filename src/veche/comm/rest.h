#pragma once

#include "veche/comm/endpoint.h"

namespace veche {

// Waits so long in the endpoint's time: for a message that nobody ever sends.
inline void rest(Endpoint& endpoint, Time length) {
  if (length > Time(0)) endpoint.receive(endpoint.id(), tags::nobody, endpoint.now() + length);
}

}  // namespace veche
