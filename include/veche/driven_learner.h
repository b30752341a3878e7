#pragma once

#include <cstdint>

#include "veche/channel.h"
#include "veche/export.h"
#include "veche/learner.h"

namespace veche {

// A learner whose gradients come from a training loop outside the run, such as a program's own loop
// on another thread. The run asks it before every step whether there is a gradient, and ends when
// all learners have none left (StopReason::samples). Until then a node without a gradient only
// takes part in the exchanges. Not for virtual time: `next` waits outside of the engine.
class VECHE_API DrivenLearner : public Learner {
 public:
  // Before the first step, and on the grid before the first step of every view. `channel` joins the
  // learners of all nodes: this call may make their models equal, and the outside loop may use it
  // while `next` waits. It is valid until the node ends. `step`: steps made so far.
  virtual void begin(Channel& channel, std::uint64_t step) = 0;
  // Waits until the outside loop has a gradient for the next step, which `compute_gradient` then
  // returns. False: it has none left; every later call returns false too. `step`: steps made so
  // far. On the grid they may be more than calls: a step that a change of members cuts off is made
  // in the next view, with the gradient given before.
  virtual bool next(std::uint64_t step) = 0;
  // Whether it wants `exchange`. Only nodes that are in step have it: an asynchronous strategy
  // refuses such a learner.
  virtual bool exchanges() const { return false; }
  // Whether each step is that of one of several optimizers, which divide the parameters: its gradient
  // is zero elsewhere. Then `exchanges` is true too, as nodes have to agree on the optimizer, and
  // strategies whose steps also take parts of earlier gradients refuse such a learner.
  virtual bool takes_turns() const { return false; }
  // In every step, between the gradient and the strategy's exchange. All nodes call it, so they may
  // exchange what is not the strategy's, such as buffers. `active`: this node has a gradient. On
  // the grid it is called again for a step that a change of members cuts off.
  virtual void exchange(Channel& /*channel*/, bool /*active*/) {}
  // After the last step, with the parameters that the strategy has left.
  virtual void end() = 0;
};

}  // namespace veche
