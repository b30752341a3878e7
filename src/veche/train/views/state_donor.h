#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/endpoint.h"
#include "veche/train/views/state_pieces.h"
#include "veche/train/views/state_request.h"
#include "veche/train/views/step_made.h"

namespace veche {

// State that all nodes have in common between two steps, which a newcomer needs too.
enum class Shared {
  nothing,  // each node has a model of its own
  common,   // only the strategy's common state, such as an outer optimizer
  models,   // the whole model
};
Shared shared_by(const StrategyInfo& strategy, const Options& options);

// Lends a node's state to newcomers while the node trains on: a copy of its state between two
// steps, made when a newcomer asks for it, then the steps that change the shared state. Keeps
// nothing while no newcomer asks. The node's thread reports its steps; any thread may call
// `answer`.
class StateDonor {
 public:
  static constexpr std::uint64_t kMostKept = 512U << 20;  // bytes of gradients
  static constexpr Time kForgets{20};                     // after this time without a question
  static constexpr Time kFresh{10};  // a copy of this age is good enough for another newcomer

  // The node's thread:
  // After each step: whether a copy is due; the caller then calls `take`.
  bool due(std::uint64_t step, Time now);
  void take(MemberState& self);
  // Whether a newcomer may be following. The node then reports each step: its gradient, or its
  // result.
  bool follows() const { return follows_; }
  void made(std::uint64_t step, std::span<const float> gradient, double rate, double scale);
  void made(MemberState& self, bool changed);
  // The state was replaced: copy and steps do not lead to it any more.
  void clear();
  // The run has ended: this node's state is the last one, and `word` tells how the run ended
  // (run_end_message.h). A node that has only a stage of the model (not `whole`) does not lend it.
  void end(MemberState& self, Message word, bool whole);

  // Any thread:
  StateReply answer(const StateRequest& request);
  // The same for a process in no view, by the name of its request. Returns nothing if the item is
  // not here and will not be, an empty message if it is not here yet.
  std::optional<Message> answer(const std::string& name, std::uint64_t offset, std::uint32_t length);
  struct StepKept {
    StateReply::Outcome outcome = StateReply::Outcome::never;
    std::shared_ptr<const StepUpdate> step;  // if it is here
  };
  StepKept step_made(std::uint64_t step) const;

 private:
  struct Copy {
    std::uint64_t name = StepReply::kNone, step = 0;
    std::vector<std::vector<float>> vectors;
  };
  void keep(std::shared_ptr<const StepUpdate> one);
  void forget_all() VECHE_REQUIRES(mutex_);
  bool good_enough() const VECHE_REQUIRES(mutex_);  // the copy, for a newcomer that asks now

  std::atomic<bool> asked_ = false, follows_ = false;
  std::atomic<std::uint64_t> wanted_ = StepReply::kNone;  // a copy at this step
  Time last_asked_{0};                                    // used by the node's thread only
  mutable Mutex mutex_;
  bool trains_ VECHE_GUARDED_BY(mutex_) = false;  // the node has begun to train
  std::uint64_t step_ VECHE_GUARDED_BY(mutex_) = 0;
  double seconds_ VECHE_GUARDED_BY(mutex_) = 0;
  Time last_step_ VECHE_GUARDED_BY(mutex_){0};
  Time copied_ VECHE_GUARDED_BY(mutex_){0};
  std::optional<Message> end_ VECHE_GUARDED_BY(mutex_);
  std::shared_ptr<const Copy> copy_ VECHE_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<const StepUpdate>> steps_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t kept_ VECHE_GUARDED_BY(mutex_) = 0;  // bytes
  MessagePool pool_;                                 // guards itself
};

}  // namespace veche
