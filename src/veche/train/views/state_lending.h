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

namespace veche {

// What is equal on all nodes between two steps, so that a newcomer needs it too.
enum class Shared {
  nothing,  // each node has a model of its own
  common,   // only the strategy's common state, such as an outer optimizer
  models,   // the whole model
};
Shared shared_by(const StrategyInfo& strategy, const Options& options);

// How a step changed the shared state: enough to repeat it to the bit.
struct StepMade {
  enum class By : std::uint64_t {
    gradient,  // by the optimizer, from the mean gradient: `bytes` as coded_gradient returns them
    result,    // `bytes` are the parameters and the common state after the step
    nothing,   // the shared state has not changed
  } by = By::gradient;
  std::uint64_t step = 0;   // steps made before
  std::uint64_t steps = 1;  // of `nothing`: the number of steps in a row
  double rate = 0, scale = 1;
  std::vector<std::byte> bytes = {};
};

// The gradient as it is, or if most of it is zero (after a codec), the other elements and their
// indices.
std::vector<std::byte> coded_gradient(std::span<const float> gradient);
// Repeats a step on this node. Returns false if it is damaged or of another model.
bool repeat_step(NodeSelf& self, const StepMade& made);

// Lends a node's state to newcomers while the node trains on: a copy of its state between two
// steps, made when a newcomer asks for it, then the steps that change the shared state. Keeps
// nothing while no newcomer asks. The node's thread reports its steps; any thread may call `give`.
class StateLending {
 public:
  static constexpr std::uint64_t kMostKept = 512U << 20;  // bytes of gradients
  static constexpr Time kForgets{20};                     // after this time without a question
  static constexpr Time kFresh{10};  // a copy of this age is good enough for another newcomer

  // The node's thread:
  // After each step: whether a copy is due; the caller then calls `take`.
  bool due(std::uint64_t step, Time now);
  void take(NodeSelf& self);
  // Whether a newcomer may be following. The node then reports each step: its gradient, or its
  // result.
  bool follows() const { return follows_; }
  void made(std::uint64_t step, std::span<const float> gradient, double rate, double scale);
  void made(NodeSelf& self, bool changed);
  // The state was replaced: copy and steps do not lead to it any more.
  void clear();
  // The run has ended: this node's state is the last one, and `word` tells how the run ended
  // (end_word.h). A node that has only a stage of the model (not `whole`) does not lend it.
  void end(NodeSelf& self, Message word, bool whole);

  // Any thread. Returns nothing if the item is not here and will not be, an empty message if it is
  // not here yet. The names:
  //   step          the node's progress: StepWord
  //   end           how the run has ended; empty until then
  //   copy/S        asks for a copy at step S, and says whether there will be one
  //   manifest/S    the copy's step, lengths and hashes
  //   piece/S/I     a piece of the copy
  //   update/T      how step T was made: UpdateWord
  //   gradient/T    its bytes, from an offset on
  std::optional<Message> give(const std::string& name, std::uint64_t offset, std::uint32_t length);
  std::shared_ptr<const StepMade> step_made(std::uint64_t step) const;

  struct StepWord {
    std::uint64_t step = 0;
    std::uint64_t copy = kNone;  // the name of a copy that is good enough
    double seconds = 0;          // of a step
  };
  struct UpdateWord {
    StepMade::By by = StepMade::By::gradient;
    std::uint64_t steps = 1;
    double rate = 0, scale = 1;
    std::uint64_t bytes = 0, hash = 0;
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

 private:
  struct Copy {
    std::uint64_t name = kNone, step = 0;
    std::vector<std::vector<float>> vectors;
  };
  std::optional<Message> give_copy(const std::string& what, std::uint64_t number, std::uint64_t piece);
  std::optional<Message> give_step(const std::string& what, std::uint64_t step, std::uint64_t offset,
                                   std::uint32_t length);
  void keep(std::shared_ptr<const StepMade> one);
  void forget_all() VECHE_REQUIRES(mutex_);
  bool good_enough() const VECHE_REQUIRES(mutex_);  // the copy, for a newcomer that asks now

  std::atomic<bool> asked_ = false, follows_ = false;
  std::atomic<std::uint64_t> wanted_ = kNone;  // a copy at this step
  Time last_asked_{0};                         // used by the node's thread only
  mutable Mutex mutex_;
  bool trains_ VECHE_GUARDED_BY(mutex_) = false;  // the node has begun to train
  std::uint64_t step_ VECHE_GUARDED_BY(mutex_) = 0;
  double seconds_ VECHE_GUARDED_BY(mutex_) = 0;
  Time last_step_ VECHE_GUARDED_BY(mutex_){0};
  Time copied_ VECHE_GUARDED_BY(mutex_){0};
  std::optional<Message> end_ VECHE_GUARDED_BY(mutex_);
  std::shared_ptr<const Copy> copy_ VECHE_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<const StepMade>> steps_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t kept_ VECHE_GUARDED_BY(mutex_) = 0;  // bytes
  MessagePool pool_;  // guards itself
};

}  // namespace veche
