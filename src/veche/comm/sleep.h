#pragma once

#include "veche/comm/tags.h"
#include "veche/endpoint.h"

namespace veche {

// Sleeps for so long in the endpoint's time: waits for a message that nobody ever sends.
inline void sleep_for(Endpoint& endpoint, Time length) {
  if (length > Time(0)) endpoint.receive(endpoint.id(), tags::nobody, endpoint.now() + length);
}

}  // namespace veche
