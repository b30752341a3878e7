#pragma once

#include "veche/comm/tags.h"
#include "veche/endpoint.h"

namespace veche {

// Sleeps for this long in the endpoint's time: waits for a message that is never sent.
inline void sleep_for(Endpoint& endpoint, Time length) {
  if (length > Time(0)) endpoint.receive(endpoint.id(), tags::nobody, endpoint.now() + length);
}

}  // namespace veche
