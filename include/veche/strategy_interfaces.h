#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "veche/coding.h"
#include "veche/export.h"
#include "veche/saved_state.h"
#include "veche/staleness.h"

namespace veche {

// Optional interfaces of a strategy. A strategy class derives from Strategy and from those of these
// that it needs; the training loop looks for them once, by dynamic_cast, when the strategy is made.
// Threads: as for Strategy, all methods are called by the strategy's own node.

// A strategy that acts before the backward pass, for example to begin sending finished parts of the
// gradient during it (Learner::on_gradient_ready).
class VECHE_API BeforeBackward {
 public:
  virtual ~BeforeBackward() = default;
  virtual void before_backward(std::uint64_t step) = 0;
};

// A strategy that wants the optimiser to write the new parameters elsewhere, so that it saves a
// copy.
class VECHE_API InPlaceStep {
 public:
  virtual ~InPlaceStep() = default;
  // Called before the optimiser's step. Empty: the optimiser overwrites the learner's parameters,
  // as usual. Otherwise after_step must put the parameters that the learner shall have into the
  // learner.
  virtual std::span<float> step_target(std::uint64_t step) = 0;
};

// A strategy whose nodes do not wait for each other (Pace::async, Pace::async_equal_steps).
class VECHE_API AsyncStrategy {
 public:
  virtual ~AsyncStrategy() = default;
  // This node makes no more steps; other nodes may. `finish` is called when all nodes have left.
  virtual void leave() {}
  // Calls `look` while no helper changes the learner or state(). Sends nothing. `look` must not ask
  // for figures (MeasuredStrategy): those take the same lock.
  virtual void inspect(const std::function<void()>& look) { look(); }
};

// A strategy that has figures for metrics and the summary.
class VECHE_API MeasuredStrategy {
 public:
  virtual ~MeasuredStrategy() = default;
  virtual Staleness staleness() const { return {}; }
  virtual Coding coding() const { return {}; }
};

// An asynchronous strategy for the grid, where the members of a view start it one after the other
// and a lost member stays in the view for a while. A strategy without this interface may wait for
// all nodes in `start`.
class VECHE_API StartsAlone {
 public:
  virtual ~StartsAlone() = default;
  // Called before `start`, which then must not wait for anybody.
  virtual void start_alone() = 0;
};

// An asynchronous strategy (Replicas::served) for the grid whose nodes each serve a part of the
// model. Its waits throw ViewChanged (veche/endpoint.h) when the members change.
class VECHE_API AsyncServer {
 public:
  virtual ~AsyncServer() = default;
  // Called before `start`: the step that the run is at, and the gradients that this node had not
  // pushed when the previous view ended (empty: none).
  virtual void resume_at(std::uint64_t step, std::vector<float> unpushed) = 0;
  // Called at the end of a view: copies the part that this node serves into `parameters`, a whole
  // model. Returns the sum of this node's gradients that it has sent to no server.
  virtual std::vector<float> put_back(std::span<float> parameters) = 0;
};

// A strategy in step (Replicas::served) for the grid with a model in stages: a node may make the
// steps of a part of the model for all nodes, with an optimiser of its own.
class VECHE_API ServesPart {
 public:
  struct Part {
    std::size_t from = 0;                   // first parameter of the part
    std::vector<std::span<float>> moments;  // the optimiser's state; empty when this node serves nothing
  };
  virtual ~ServesPart() = default;
  virtual Part served_part() = 0;
};

// A strategy whose nodes have only a part of state() in common (StrategyInfo::common_state). On the
// grid it says what goes from one view to the next; the rest is begun anew. Must not wait.
class VECHE_API DividedState {
 public:
  struct Parts {
    std::vector<std::span<float>> common;  // the same on all nodes: newcomers get it
    std::vector<std::span<float>> own;     // this node's; a newcomer keeps what the strategy begins with
  };
  virtual ~DividedState() = default;
  virtual Parts divided_state() = 0;
};

// A strategy whose state() differs from that of an earlier version: checkpoints of that version
// still resume.
class VECHE_API ReadsOlderState {
 public:
  virtual ~ReadsOlderState() = default;
  // Where such a checkpoint is read into, in its own layout.
  virtual SavedState older_state() = 0;
  // The checkpoint has been read and the learner has its parameters: convert to the present state.
  virtual void take_older_state() = 0;
};

}  // namespace veche
