#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "veche/endpoint.h"
#include "veche/errors.h"

namespace veche {

struct FaultPlan {
  std::uint64_t seed = 1;
  double delay_probability = 0;  // per message received
  Time longest_delay{0};         // uniform between 0 and this
  double drop_probability = 0;   // per message sent
  // per message sent: later ones to other nodes, or with other tags, may arrive first
  double overtake_probability = 0;
  std::optional<std::uint64_t> dies_after = {};  // messages sent before the node dies
};

// Thrown inside the node that the plan kills.
class NodeKilled : public RunError {
 public:
  using RunError::RunError;
};

// An endpoint with injected faults: delays arriving messages, loses or reorders sent ones, dies on
// schedule. Every fault is determined by the plan's seed and the node. Delays wait through the
// inner endpoint, so they work in virtual time too.
std::unique_ptr<Endpoint> make_faulty(std::unique_ptr<Endpoint> inner, FaultPlan plan);

}  // namespace veche
