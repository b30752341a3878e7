#pragma once

#include <cstdint>

#include "veche/export.h"
#include "veche/saved_state.h"
#include "veche/strategy_context.h"
#include "veche/strategy_interfaces.h"

namespace veche {

// What the learner's gradient is after after_backward.
enum class Gradient {
  own,     // of this node's samples: without samples there is no step
  shared,  // of many nodes: the loop makes a step even when this node had no samples
  used,    // the strategy has already made the step
};

// Keeps the nodes' models in step: two moments in the one training loop, between a start and a
// finish. There is one instance per node, and only that node calls it. It sees flat vectors, other
// nodes through its channel, and the graph; never a tensor and never a clock of its own. A strategy
// that must answer at any time starts a helper (Endpoint::spawn), which waits for messages; a mutex
// that the two share is never held across a message. It throws PeerLost when it cannot go on
// without a peer. What only some strategies do is in veche/strategy_interfaces.h.
class VECHE_API Strategy {
 public:
  virtual ~Strategy() = default;

  virtual void start() {}
  // The gradient of this step is complete and may be changed. The parameters are those it was
  // computed at.
  virtual Gradient after_backward(std::uint64_t /*step*/) { return Gradient::own; }
  // The optimiser has made its step; the parameters may be changed. The gradient may be gone.
  virtual void after_step(std::uint64_t /*step*/) {}
  virtual void finish() {}

  // What a checkpoint must save besides the learner and the optimiser.
  virtual SavedState state() { return {}; }
};

}  // namespace veche
